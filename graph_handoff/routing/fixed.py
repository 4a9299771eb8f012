"""Routers that always decide the same: the two ends that any other router is measured against."""

from __future__ import annotations

from graph_handoff.delegation import Delegation
from graph_handoff.routing.base import Decision, Router


class AlwaysProse(Router):
    """Prose for everything: the NL baseline as a router."""

    name = "always-nl"

    def route(self, delegation: Delegation) -> Decision:
        return Decision("nl", 0.0, "Everything is sent as prose.", self.name)


class AlwaysGraph(Router):
    """The graph for everything."""

    name = "always-graph"

    def route(self, delegation: Delegation) -> Decision:
        return Decision("graph", 1.0, "Everything is sent as a graph.", self.name)
