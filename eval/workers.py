"""Trials in several processes at once. The trials of one task stay with one process, so that it reads every message once."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, zip_longest
from types import TracebackType
from typing import Any

from data.workers import process_pool
from eval.bench import Bench, Told
from eval.engine import Job
from eval.trial import Trial
from graph_handoff.errors import HandoffError

KILLED = "a worker was killed (out of memory?); run the command again to go on"

_bench: Bench | HandoffError | None = None
"""In a worker process: its own bench, or why it has none."""


class Workers:
    """A bench in `count` processes, each with its own, made there by `make`."""

    def __init__(self, count: int, make: Callable[[], Bench]) -> None:
        self._pools = [process_pool(1, "spawn", _prepare, make) for _ in range(count)]
        for pool in self._pools:
            pool.submit(_ready)  # a pool starts its process with the first work; all load at the same time
        self._places: dict[tuple[str, str], int] = {}

    async def trial(self, job: Job) -> Trial:
        """Waits for the trial. Raises what it raised, and HandoffError where the process was killed."""
        try:
            return await asyncio.wrap_future(self._pools[self._place(job)].submit(_trial, job))
        except BrokenProcessPool as error:
            raise HandoffError(KILLED) from error

    def remember(self, trials: Iterable[Trial]) -> None:
        """Each process gets the trials of its own tasks."""
        for trial in trials:
            if trial.route is not None:
                self._ask(self._place(trial.key), "remember", [trial])

    def told(self) -> Told:
        """As the first process tells: all say the same. Raises what making the bench raised in any of them."""
        answers: list[Told] = [self._ask(place, "told") for place in range(len(self._pools))]
        return answers[0]

    def in_turn(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs in an order in which the next ones always belong to different processes."""
        parts: list[list[Job]] = [[] for _ in self._pools]
        for job in jobs:
            parts[self._place(job)].append(job)
        return [job for job in chain.from_iterable(zip_longest(*parts)) if job is not None]

    def _place(self, job: Job) -> int:
        return self._places.setdefault(job[:2], len(self._places) % len(self._pools))

    def _ask(self, place: int, question: str, *given: Any) -> Any:
        try:
            return self._pools[place].submit(_answer, question, *given).result()
        except BrokenProcessPool as error:
            raise HandoffError(KILLED) from error

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)


def _prepare(make: Callable[[], Bench]) -> None:
    """An error here would only kill the process: it is kept for whoever asks."""
    global _bench
    try:
        _bench = make()
    except HandoffError as error:
        _bench = error


def _ready() -> None:
    """A job without work: its result shows that the process has started."""


def _trial(job: Job) -> Trial:
    if isinstance(_bench, HandoffError):
        raise _bench
    assert _bench is not None
    return _loop().run_until_complete(_bench.trial(job))


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of this process, shared by all its trials."""
    return asyncio.new_event_loop()


def _answer(question: str, *given: Any) -> Any:
    if isinstance(_bench, HandoffError):
        raise _bench
    return getattr(_bench, question)(*given)
