"""Several processes make the same trials as one, each task's in one of them."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

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
        workers.models()


class Achieves(Bench):
    """Each trial achieves a rate that its task names."""

    rates: ClassVar[list[float]] = []

    async def trial(self, job: Job) -> Trial:
        self.rates.append(0.1 * int(job[1]))
        return await make().trial(("toy", "cancel-0", "nl", 0))

    def models(self) -> dict[str, dict[str, Any]]:
        met = {"texts": len(self.rates), "achieved_rate": sum(self.rates) / len(self.rates)} if self.rates else {}
        return {"nl": {"run": "x", "training": {"f1": 0.5, **met}}}


def test_a_routed_protocol_tells_of_its_graphs_model_and_of_its_router() -> None:
    protocol = Routed()
    protocol.graph.model_info = lambda: {"run": "g"}  # type: ignore[attr-defined]
    protocol.router.model_info = lambda: {"run": "r"}  # type: ignore[method-assign]
    bench = Bench({}, {"nl": load_protocol("nl"), "routed": protocol, "rules": Routed()}, load_executor("scripted"))
    assert (bench.models(), bench.routers()) == ({"routed": {"run": "g"}}, {"routed": {"run": "r"}})
    with Workers(1, make) as workers:
        assert workers.routers() == {}


def test_rates_that_processes_achieved_become_the_mean_over_all_texts() -> None:
    with Workers(2, partial(Achieves, {}, {}, load_executor("scripted"))) as workers:
        assert workers.models() == {"nl": {"run": "x", "training": {"f1": 0.5}}}
        for number in (1, 2, 3):
            asyncio.run(workers.trial(("toy", str(number), "nl", 0)))
        training = workers.models()["nl"]["training"]
    assert training == {"f1": 0.5, "texts": 3, "achieved_rate": pytest.approx(0.2)}
