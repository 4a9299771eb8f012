"""Trials in several processes at once. The trials of one task stay with one process, so that it reads every message once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, zip_longest
from types import TracebackType

from data.workers import process_pool
from eval.engine import Job
from eval.trial import Trial
from handoff.errors import HandoffError

TrialOf = Callable[[Job], Trial]

_trial_of: TrialOf | None = None
"""In a worker process: how it makes a trial."""


class Workers:
    """`count` processes, each with its own environments and models, made there by `make`."""

    def __init__(self, count: int, make: Callable[[], TrialOf]) -> None:
        self._pools = [process_pool(1, "spawn", _prepare, make) for _ in range(count)]
        self._places: dict[tuple[str, str], int] = {}

    def trial(self, job: Job) -> Trial:
        """Waits for the trial. Raises what it raised, and HandoffError where the process was killed."""
        try:
            return self._pools[self._place(job)].submit(_try, job).result()
        except BrokenProcessPool as error:
            raise HandoffError("a worker was killed (out of memory?); run the command again to go on") from error

    def in_turn(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs in an order in which the next ones always belong to different processes."""
        parts: list[list[Job]] = [[] for _ in self._pools]
        for job in jobs:
            parts[self._place(job)].append(job)
        return [job for job in chain.from_iterable(zip_longest(*parts)) if job is not None]

    def _place(self, job: Job) -> int:
        return self._places.setdefault(job[:2], len(self._places) % len(self._pools))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)


def _prepare(make: Callable[[], TrialOf]) -> None:
    global _trial_of
    _trial_of = make()


def _try(job: Job) -> Trial:
    assert _trial_of is not None
    return _trial_of(job)
