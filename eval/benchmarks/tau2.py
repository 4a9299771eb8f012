"""tau-bench (tau2): the labelled gold plans as delegations, the real environment as judge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from data.environments import load_environment
from data.labelled import read_graphs
from eval.benchmarks.base import Benchmark, Part
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.errors import InputError


def load_tau2(name: str, graphs: Path, part: Part) -> Benchmark:
    """Read the gold graphs of `name`'s domain. Raises InputError where the file holds none."""
    environment = load_environment(name).fork()
    tools = Toolset.from_schemas(environment.tools)
    wanted = {task.id for task in environment.tasks() if part in ("all", task.split)}
    delegations: dict[str, Delegation] = {}
    for record in read_graphs(graphs):
        if record.source == "gold" and record.task.domain == environment.domain and record.task.id in wanted:
            delegations[record.task.id] = replace(record.to_delegation(tools), id=record.task.id)
    if not delegations:
        raise InputError(
            f"holds no gold plan of {name} ({part}): run `handoff import --gold '[{name}]'` and `handoff label`", file=graphs
        )
    return Benchmark(name, environment, delegations)
