"""Several processes make the same trials as one, each task's in one of them."""

from __future__ import annotations

import os
from collections import defaultdict
from functools import partial
from pathlib import Path

import pytest
from toy_benchmark import benchmark

from eval.engine import Job, run_trials
from eval.suite import trial_of
from eval.trial import Trial
from eval.workers import TrialOf, Workers
from handoff.errors import HandoffError
from handoff.protocols import load_protocol

TASKS = [f"cancel-{number}" for number in range(5)]
JOBS = [("toy", task, name, seed) for task in TASKS for name in ("nl", "compact") for seed in (0, 1)]


def make() -> TrialOf:
    toy = benchmark("toy", 5)
    return trial_of({"toy": toy}, {name: load_protocol(name) for name in ("nl", "compact")})


def with_process_id() -> TrialOf:
    trial = make()
    return lambda job: trial(job).model_copy(update={"detail": str(os.getpid())})


def killed() -> TrialOf:
    return lambda job: os._exit(9)


def raises() -> TrialOf:
    def trial(job: Job) -> Trial:
        raise HandoffError("a bug of ours")

    return trial


def all_of(make: partial[TrialOf] | TrialOf, logs: Path) -> list[Trial]:
    done: list[Trial] = []
    with Workers(2, make) as workers:  # type: ignore[arg-type]
        run_trials(workers.in_turn(JOBS), workers.trial, done.append, logs, at_once=8)
    return done


def test_two_processes_make_the_trials_of_one(tmp_path: Path) -> None:
    alone = make()
    found = {trial.key: trial for trial in all_of(with_process_id, tmp_path)}
    homes = defaultdict(set)
    for trial in found.values():
        homes[trial.task_id].add(trial.detail)
    assert {key: trial.model_copy(update={"detail": alone(key).detail}) for key, trial in found.items()} == {
        job: alone(job) for job in JOBS
    }
    assert all(len(processes) == 1 for processes in homes.values())
    assert len(set.union(*homes.values())) == 2


def test_the_next_jobs_are_of_different_processes() -> None:
    with Workers(2, make) as workers:
        order = workers.in_turn(JOBS)
    assert sorted(order) == sorted(JOBS)
    assert order[0][1] != order[1][1]


@pytest.mark.parametrize(("make", "reason"), [(killed, "a worker was killed"), (raises, "a bug of ours")])
def test_a_worker_that_breaks_stops_the_run(make: TrialOf, reason: str, tmp_path: Path) -> None:
    with pytest.raises(HandoffError, match=reason):
        all_of(make, tmp_path)
