"""The engine that runs trials: inspect-ai. One sample a trial; its log can be opened with `inspect view`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from eval.trial import Trial
from graph_handoff.errors import HandoffError

Job = tuple[str, str, str, int]
"""benchmark, task id, protocol, seed: a trial's key."""


def run_trials(
    jobs: Sequence[Job], trial: Callable[[Job], Trial], done: Callable[[Trial], None], logs: Path, at_once: int = 1
) -> None:
    """Run every job through inspect-ai and hand each finished trial to `done`; `at_once` trials are waited for, in threads.

    A trial records its own failures; an exception that is none of those stops the run as HandoffError, after the trials
    that were finished have been handed over. So does Ctrl-C or SIGTERM, as KeyboardInterrupt.
    """
    _keep_to(logs)
    from inspect_ai import Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.dataset import MemoryDataset, Sample

    samples = [
        Sample(input=f"{task} {protocol} {seed}", id=_name(job), metadata={"job": list(job)})
        for job in jobs
        for _, task, protocol, seed in [job]
    ]
    task = Task(name="handoff", dataset=MemoryDataset(samples), solver=_solver(trial, done, at_once), scorer=_scorer())
    with _sigterm_as_ctrl_c():
        logs_made = inspect_eval(
            task,
            model="none/none",
            display="none",
            log_dir=str(logs),
            log_level="error",
            log_realtime=False,
            log_buffer=200,
            fail_on_error=False,
            score_display=False,
            max_samples=at_once,
        )
    if not logs_made or logs_made[0].status == "cancelled":
        raise KeyboardInterrupt  # inspect-ai keeps Ctrl-C to itself
    log = logs_made[0]
    failed = [sample for sample in log.samples or [] if sample.error is not None]
    if log.status != "success" or failed:
        reason = failed[0].error.message if failed and failed[0].error else str(log.error.message if log.error else log.status)
        raise HandoffError(f"{len(failed)} of {len(jobs)} trials broke outside their protocol and environment: {reason}")


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """What a scheduler sends stops the run like Ctrl-C: by whoever hears that at the moment, the event loop for instance."""

    def stop(number: int, frame: FrameType | None) -> None:
        heard = signal.getsignal(signal.SIGINT)
        if not callable(heard):  # a shell starts what it puts in the background without Ctrl-C
            raise KeyboardInterrupt
        heard(number, frame)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _name(job: Job) -> str:
    return "/".join(map(str, job))


def _keep_to(logs: Path) -> None:
    """Keep inspect's data and caches beside its logs: otherwise they land in the user's home."""
    logs.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("XDG_DATA_HOME", str(logs / "data"))
    os.environ.setdefault("INSPECT_CACHE_DIR", str(logs / "cache"))
    os.environ.setdefault("INSPECT_TELEMETRY", "")


def _solver(trial: Callable[[Job], Trial], done: Callable[[Trial], None], at_once: int) -> Any:
    from anyio.to_thread import run_sync
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import Generate, TaskState, solver

    @solver(name="handoff_trial")
    def make() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            benchmark, task, protocol, seed = state.metadata["job"]
            job = (benchmark, task, protocol, seed)
            result = await run_sync(trial, job) if at_once > 1 else trial(job)
            done(result)
            state.metadata |= {"reward": result.reward, "failure": result.failure, "detail": result.detail}
            state.output = ModelOutput.from_content("none", result.handoff)
            return state

        return solve

    return make()


def _scorer() -> Any:
    from inspect_ai.scorer import Score, Target, mean, scorer
    from inspect_ai.solver import TaskState

    @scorer(metrics=[mean()], name="benchmark_reward")
    def make() -> Any:
        async def score(state: TaskState, target: Target) -> Score:
            return Score(value=float(state.metadata["reward"]), explanation=state.metadata["detail"] or None)

        return score

    return make()
