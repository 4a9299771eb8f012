"""Benchmarks: one adapter per file. An adapter gives the tasks as delegations and the environment that scores them.

To add one: a file with its `ADAPTERS`, and a line here.
"""

from __future__ import annotations

from eval.benchmarks import recorded, tau2
from eval.benchmarks.base import Adapter, Benchmark, Inputs, Part
from graph_handoff.registry import known

BENCHMARKS: dict[str, Adapter] = {
    **tau2.ADAPTERS,
    **recorded.ADAPTERS,
}
"""By name."""

__all__ = ["BENCHMARKS", "Adapter", "Benchmark", "Inputs", "Part", "dataset_of", "load_benchmark", "title_of"]


def load_benchmark(name: str, inputs: Inputs) -> Benchmark:
    """The benchmark of that name with the delegations labelled in `inputs.graphs`. Raises ConfigError, InputError."""
    return BENCHMARKS[known("benchmark", BENCHMARKS, name)].load(name, inputs)


def dataset_of(name: str) -> tuple[str, str] | None:
    """The Hub's data set with its tasks, and which of them; None where there is none."""
    return BENCHMARKS[name].dataset if name in BENCHMARKS else None


def title_of(name: str) -> str:
    """As the report calls it; a benchmark that is not known here goes by its name."""
    return BENCHMARKS[name].title if name in BENCHMARKS else name
