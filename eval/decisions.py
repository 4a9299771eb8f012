"""Routers' decisions: each is made, and paid for, once in a suite."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from eval.trial import Trial
from graph_handoff.routing import Decision

Key = tuple[str, str]
"""A task's id, and a protocol as the suite calls it."""


class Decisions:
    """On the delegations of one benchmark, in one process. Threads that ask for one decision wait for the one that makes it."""

    def __init__(self) -> None:
        self._made: dict[Key, Decision] = {}
        self._locks: dict[Key, Lock] = {}

    def of(self, key: Key, decide: Callable[[], Decision]) -> Decision:
        """The decision that was made, or the one that `decide` makes now. Raises what it raises, and keeps nothing then."""
        with self._locks.setdefault(key, Lock()):
            if key not in self._made:
                self._made[key] = decide()
            return self._made[key]

    def remember(self, trial: Trial) -> None:
        """Take over what was decided in a trial of an earlier, stopped run."""
        route = trial.route
        if route is not None:
            self._made[trial.task_id, trial.protocol] = Decision(
                route.format,
                route.score,
                route.reason,
                route.router,
                route.pattern,
                tokens=trial.tokens.overhead,
                failed=route.failed,
            )
