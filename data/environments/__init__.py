"""Environments: real tools over a real database, behind one small interface."""

from __future__ import annotations

import functools
from collections.abc import Callable

from data.environments.base import Environment
from data.environments.tau2 import DOMAINS, Tau2Environment, environment_name
from graph_handoff.errors import InputError, did_you_mean

ENVIRONMENTS: dict[str, Callable[[], Environment]] = {
    str(environment_name(domain)): functools.partial(Tau2Environment, domain) for domain in DOMAINS
}


@functools.cache
def load_environment(name: str) -> Environment:
    """The environment of that name, one for the process (`fork` it where several run at once).

    Loading takes seconds. Raises InputError for an unknown name, MissingDependencyError where the benchmark's package
    is not installed.
    """
    if name not in ENVIRONMENTS:
        raise InputError(f"unknown environment{did_you_mean(name, ENVIRONMENTS)}", found=name, allowed=ENVIRONMENTS)
    return ENVIRONMENTS[name]()
