"""Several processes make the same trials as one, each task's in one of them."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from toy_benchmark import benchmark

from eval.bench import Bench
from eval.engine import Job, run_trials
from eval.executors import load_executor
from eval.trial import Trial
from eval.workers import Workers
from graph_handoff.errors import HandoffError, InputError
from graph_handoff.protocols import load_protocol
from graph_handoff.protocols.routed import Routed

TASKS = [f"cancel-{number}" for number in range(5)]
JOBS = [("toy", task, name, seed) for task in TASKS for name in ("nl", "compact") for seed in (0, 1)]


def make() -> Bench:
    return Bench(
        {"toy": benchmark("toy", 5)}, {name: load_protocol(name) for name in ("nl", "compact")}, load_executor("scripted")
    )


class WithProcessId(Bench):
    async def trial(self, job: Job) -> Trial:
        return (await super().trial(job)).model_copy(update={"detail": str(os.getpid())})


def with_process_id() -> Bench:
    bench = make()
    return WithProcessId(bench.benchmarks, bench.protocols, load_executor("scripted"))


class Killed(Bench):
    async def trial(self, job: Job) -> Trial:
        os._exit(9)


class Raises(Bench):
    async def trial(self, job: Job) -> Trial:
        raise HandoffError("a bug of ours")


def cannot_be_made() -> Bench:
    raise InputError("no model there", file="x")


def all_of(make: Callable[[], Bench], logs: Path) -> list[Trial]:
    done: list[Trial] = []
    with Workers(2, make) as workers:
        run_trials(workers.in_turn(JOBS), workers.trial, done.append, logs, at_once=8)
    return done


def test_two_processes_make_the_trials_of_one(tmp_path: Path) -> None:
    bench = make()
    alone = {job: asyncio.run(bench.trial(job)) for job in JOBS}
    found = {trial.key: trial for trial in all_of(with_process_id, tmp_path)}
    homes = defaultdict(set)
    for trial in found.values():
        homes[trial.task_id].add(trial.detail)
    assert {key: trial.model_copy(update={"detail": alone[key].detail}) for key, trial in found.items()} == alone
    assert all(len(processes) == 1 for processes in homes.values())
    assert len(set.union(*homes.values())) == 2


def test_the_next_jobs_are_of_different_processes() -> None:
    with Workers(2, make) as workers:
        order = workers.in_turn(JOBS)
    assert sorted(order) == sorted(JOBS)
    assert order[0][1] != order[1][1]


@pytest.mark.parametrize(("kind", "reason"), [(Killed, "a worker was killed"), (Raises, "a bug of ours")])
def test_a_worker_that_breaks_stops_the_run(kind: type[Bench], reason: str, tmp_path: Path) -> None:
    with pytest.raises(HandoffError, match=reason):
        all_of(partial(kind, {}, {}, load_executor("scripted")), tmp_path)


def test_what_a_process_cannot_load_is_told_as_it_was_raised() -> None:
    with Workers(2, cannot_be_made) as workers, pytest.raises(InputError, match="x: no model there"):
        workers.told()


def test_a_routed_protocol_tells_of_its_graphs_model_and_of_its_router() -> None:
    protocol = Routed()
    protocol.graph.model_info = lambda: {"run": "g", "parameters": 1}  # type: ignore[attr-defined]
    protocol.router.model_info = lambda: {"run": "r", "parameters": 1}  # type: ignore[method-assign]
    bench = Bench({}, {"nl": load_protocol("nl"), "routed": protocol, "rules": Routed()}, load_executor("scripted"))
    told = bench.told()
    assert {name: info.run for name, info in told.models.items()} == {"routed": "g"}
    assert {name: info.run for name, info in told.routers.items()} == {"routed": "r"}
    with Workers(1, make) as workers:
        assert workers.told().routers == {}
