"""tau-bench (tau2): the labelled gold plans as delegations, scored by the real environment."""

from __future__ import annotations

from dataclasses import replace

from data.environments import load_environment
from data.environments.tau2 import AIRLINE, RETAIL
from data.labelled import read_graphs
from eval.benchmarks.base import Adapter, Benchmark, Inputs
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.errors import InputError

DATASET = "HuggingFaceH4/tau2-bench-data"


def load_tau2(name: str, inputs: Inputs) -> Benchmark:
    """Read the gold graphs of the environment `name`. Raises InputError where the file holds none."""
    environment = load_environment(name).fork()
    tools = Toolset.from_schemas(environment.tools)
    wanted = {task.id for task in environment.tasks() if inputs.part in ("all", task.split)}
    delegations: dict[str, Delegation] = {}
    for record in read_graphs(inputs.graphs):
        if record.source == "gold" and record.environment == name and record.task.id in wanted:
            delegations[record.task.id] = replace(record.to_delegation(tools), id=record.task.id)
    if not delegations:
        problem = f"holds no gold plan of {name} ({inputs.part}): run `handoff import --gold '[{name}]'` and `handoff label`"
        raise InputError(problem, file=inputs.graphs)
    return Benchmark(name, environment, delegations)


ADAPTERS = {
    RETAIL: Adapter("tau-bench retail", load_tau2, dataset=(DATASET, "retail")),
    AIRLINE: Adapter("tau-bench airline", load_tau2, dataset=(DATASET, "airline")),
}
