"""What makes a trial: environments with an executor each, protocols with their models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eval.benchmarks import Benchmark
from eval.engine import Job
from eval.executors.scripted import ScriptedExecutor
from eval.trial import Trial
from graph_handoff.protocols import Protocol, Routing


class Bench:
    """Of one process."""

    def __init__(self, benchmarks: Mapping[str, Benchmark], protocols: Mapping[str, Protocol]) -> None:
        self.benchmarks, self.protocols = benchmarks, protocols
        self._executors = {name: ScriptedExecutor(name, benchmark.environment) for name, benchmark in benchmarks.items()}

    def trial(self, job: Job) -> Trial:
        benchmark, task, protocol, seed = job
        delegation = self.benchmarks[benchmark].delegations[task]
        return self._executors[benchmark].trial(delegation, self.protocols[protocol], protocol, seed)

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
