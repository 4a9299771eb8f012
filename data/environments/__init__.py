"""Environments: real tools over a real database, behind one small interface."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Protocol

from data.environments.base import BenchmarkEnvironment, ReplayableEnvironment
from data.environments.tau2 import NAMES, Tau2Environment
from graph_handoff.errors import InputError, did_you_mean

ENVIRONMENTS: dict[str, Callable[[], BenchmarkEnvironment]] = {
    name: functools.partial(Tau2Environment, domain) for name, domain in NAMES.items()
}
"""Name, as records give it -> what makes the environment."""


@functools.cache
def load_environment(name: str) -> BenchmarkEnvironment:
    """The environment of that name, one for the process (`fork` it where several run at once).

    Loading takes seconds. Raises InputError for an unknown name, MissingDependencyError where the benchmark's package
    is not installed.
    """
    if name not in ENVIRONMENTS:
        raise InputError(f"unknown environment{did_you_mean(name, ENVIRONMENTS)}", found=name, allowed=ENVIRONMENTS)
    return ENVIRONMENTS[name]()


class Origin(Protocol):
    """A record that says where it can be executed: a trajectory, a labelled graph, a row of a corpus."""

    @property
    def id(self) -> str:
        """The trajectory's."""
        ...

    @property
    def environment(self) -> str | None:
        """The name of its environment; None where only what was recorded is known."""
        ...


def environment_of(record: Origin, recorded: ReplayableEnvironment | None = None) -> ReplayableEnvironment:
    """The environment that a record names, else `recorded`, made from the trajectories beside it.

    Raises InputError where the record names none and there are no recordings, and what `load_environment` raises.
    """
    if record.environment is not None:
        return load_environment(record.environment)
    if recorded is None:
        raise InputError("names no environment: only its recorded trajectory can answer its calls", record=record.id)
    return recorded
