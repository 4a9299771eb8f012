"""What makes the trials of a suite: environments, an executor, protocols with their models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eval.benchmarks import Benchmark
from eval.engine import Job
from eval.executors import Executor
from eval.trial import Trial
from eval.trials import TrialMaker
from graph_handoff.protocols import Protocol, Routing


class Bench:
    """Of one process."""

    def __init__(
        self,
        benchmarks: Mapping[str, Benchmark],
        protocols: Mapping[str, Protocol],
        executor: Executor,
        *,
        threads: bool = False,
    ) -> None:
        self.benchmarks, self.protocols = benchmarks, protocols
        self._makers = {
            name: TrialMaker(name, benchmark.environment, executor, threads) for name, benchmark in benchmarks.items()
        }

    async def trial(self, job: Job) -> Trial:
        benchmark, task, protocol, seed = job
        delegation = self.benchmarks[benchmark].delegations[task]
        return await self._makers[benchmark].trial(delegation, self.protocols[protocol], protocol, seed)

    def remember(self, trials: Iterable[Trial]) -> None:
        """What routers decided in these trials is not asked again."""
        for trial in trials:
            self._makers[trial.benchmark].decisions.remember(trial)

    def models(self) -> dict[str, dict[str, Any]]:
        """Protocol -> what there is to say of the model behind it, where it has one."""
        told = {name: protocol.model_info() for name, protocol in self.protocols.items() if hasattr(protocol, "model_info")}
        return {name: info for name, info in told.items() if info is not None}

    def routers(self) -> dict[str, dict[str, Any]]:
        """Routed protocol -> the same of the model that decides."""
        told = {name: protocol.router_info() for name, protocol in self.protocols.items() if isinstance(protocol, Routing)}
        return {name: info for name, info in told.items() if info is not None}

    def in_turn(self, jobs: Sequence[Job]) -> list[Job]:
        """The order in which to run them: as they are."""
        return list(jobs)
