"""What a benchmark is to the suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from data.environments.base import Environment
from graph_handoff.delegation import Delegation

Part = Literal["test", "train", "all"]
"""Which of the benchmark's own tasks: its held-out split, the other one, or both."""


@dataclass(frozen=True)
class Benchmark:
    """Delegations, and the environment that carries them out and scores them."""

    name: str
    environment: Environment
    delegations: dict[str, Delegation]
    """Task id -> what the orchestrator wants done."""
