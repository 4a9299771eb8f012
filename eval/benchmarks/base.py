"""What a benchmark is to the suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from data.environments.base import JudgingEnvironment
from graph_handoff.delegation import Delegation

Part = Literal["test", "train", "all"]
"""Which tasks: those held out (by the benchmark's own split, or by the corpus's), the others, or both."""


@dataclass(frozen=True)
class Benchmark:
    """Delegations, and the environment that executes and scores them."""

    name: str
    environment: JudgingEnvironment
    delegations: dict[str, Delegation]
    """Task id -> what the orchestrator wants done."""
    notes: tuple[str, ...] = ()
    """Sentences for the reader of the report."""


@dataclass(frozen=True)
class Inputs:
    """What a benchmark is made from. An adapter takes what it needs."""

    graphs: Path
    """Labelled graphs."""
    part: Part = "test"
    trajectories: Path = Path("data/store/trajectories.jsonl")
    """The recordings that the graphs were labelled from."""
    corpus: Path = Path("data/store/corpus")
    """Whose split says which recordings are held out."""
    writes: tuple[str, ...] = ()
    """Tools that change something, where neither their schemas nor the recordings tell."""
    reads: tuple[str, ...] = ()
    """Tools that change nothing."""


class Adapter(NamedTuple):
    """A benchmark as the registry knows it."""

    title: str
    """As the report calls it."""
    load: Callable[[str, Inputs], Benchmark]
    """Raises InputError where there is no task."""
    files: Callable[[Inputs], tuple[Path, ...]] = lambda inputs: (inputs.graphs,)
    """What it reads: a run on other files is another run."""
    dataset: tuple[str, str] | None = None
    """The Hub's data set with its tasks, and which of them, where there is one."""
