"""What a protocol is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, runtime_checkable
from typing import Protocol as Interface

from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.graph import Graph
from graph_handoff.plan import Plan
from graph_handoff.routing.base import Decision


@dataclass(frozen=True)
class Reading:
    """What the receiver has after it read a handoff."""

    text: str
    """What the executor finally reads: the handoff itself, or what the protocol decoded it to."""
    plan: Plan
    """The plan that a scripted executor can carry out, as far as the text holds one."""
    graph: Graph | None = None
    """The graph, where the format holds one; None for prose and keywords."""
    repaired: bool = False
    """The text was not quite right, and the protocol's documented repair made it readable."""
    backoff: bool = False
    """The protocol should have written a graph and could not: what crossed is its prose."""


class Protocol(Interface):
    """Delegation -> text that crosses -> reading."""

    name: str

    def instructions(self, tools: Toolset) -> str:
        """What the executor must be told to read the text; empty where it needs nothing."""
        ...

    def encode(self, delegation: Delegation, seed: int) -> str:
        """The handoff. `seed` chooses among phrasings, where there are several. Raises HandoffError."""
        ...

    def decode(self, text: str, tools: Toolset) -> Reading:
        """Read a handoff. Raises CodecError or GraphError where it cannot be read."""
        ...


@runtime_checkable
class Routing(Interface):
    """What a protocol has besides, if it chooses a format for each delegation; its decisions are recorded, their cost counted."""

    def decide(self, delegation: Delegation) -> Decision:
        """The choice that `encode` follows. Raises HandoffError."""
        ...

    def instructions_for(self, text: str, tools: Toolset) -> str:
        """What the executor must be told to read this very handoff."""
        ...

    def router_info(self) -> dict[str, Any] | None:
        """What a report says of the trained model that decides; None where there is none."""
        ...
