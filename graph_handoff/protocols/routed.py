"""Routed NGH: a router decides, delegation by delegation, whether a graph crosses or prose.

The receiver must know which of the two it reads. A handoff that begins with MARK is a graph; anything else is prose, and prose
that would itself begin so (a mark after any number of ESCAPEs) is sent with one ESCAPE more. The mark is counted in the tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.errors import ConfigError
from graph_handoff.protocols import PROTOCOLS, Protocol
from graph_handoff.protocols.base import Reading
from graph_handoff.routing import ROUTERS, Decision, Router

MARK, ESCAPE = "@\n", " "


class Routed:
    """A router, a protocol for graphs, and one for prose; `decide` and `instructions_for` make it `protocols.Routing`."""

    name = "routed"

    def __init__(
        self,
        router: str = "rules",
        router_options: Mapping[str, Any] | None = None,
        graph: str = "ngh",
        graph_options: Mapping[str, Any] | None = None,
        prose: str = "nl",
    ) -> None:
        for field, name in (("graph", graph), ("prose", prose)):
            if name == self.name:
                raise ConfigError("a routed protocol cannot be routed again", field=field, found=name)
        self.router: Router = ROUTERS.make(router, router_options or {}, ("router", "router_options"))
        self.graph: Protocol = PROTOCOLS.make(graph, graph_options or {}, ("graph", "graph_options"))
        self.prose: Protocol = PROTOCOLS.make(prose, {}, ("prose", "prose"))
        self._last: tuple[Delegation, Decision] | None = None

    def decide(self, delegation: Delegation) -> Decision:
        """The router's decision; it is asked once for a delegation that comes several times in a row (other seeds)."""
        last = self._last
        if last is None or last[0] is not delegation:
            last = self._last = (delegation, self.router.route(delegation))
        return last[1]

    def instructions(self, tools: Toolset) -> str:
        """For a receiver that is told once for all: how to read a graph. Prose needs nothing."""
        return self.graph.instructions(tools)

    def instructions_for(self, text: str, tools: Toolset) -> str:
        """Only a graph brings instructions with it."""
        return (self.graph if text.startswith(MARK) else self.prose).instructions(tools)

    def encode(self, delegation: Delegation, seed: int) -> str:
        if self.decide(delegation).format == "graph":
            return MARK + self.graph.encode(delegation, seed)
        text = self.prose.encode(delegation, seed)
        return ESCAPE + text if _looks_marked(text) else text

    def decode(self, text: str, tools: Toolset) -> Reading:
        if text.startswith(MARK):
            protocol, inner = self.graph, text.removeprefix(MARK)
        else:
            protocol, inner = self.prose, text.removeprefix(ESCAPE) if _looks_marked(text) else text
        reading = protocol.decode(inner, tools)
        return replace(reading, text=text) if reading.text == inner else reading  # what is read as it came is read with its mark

    def model_info(self) -> dict[str, Any] | None:
        """What the report says of the model that writes the graphs, where there is one."""
        told: dict[str, Any] | None = getattr(self.graph, "model_info", lambda: None)()
        return told

    def router_info(self) -> dict[str, Any] | None:
        return self.router.model_info()


def _looks_marked(text: str) -> bool:
    return text.lstrip(ESCAPE).startswith(MARK)
