"""Routing: who decides, before a delegation is sent, whether it goes as a graph or as prose. One router a file.

To add one: a module with a class that has the methods of `Router`, and a line in ROUTERS.
"""

from __future__ import annotations

from typing import Any

from graph_handoff.registry import make
from graph_handoff.routing.base import Decision, Format, Router

ROUTERS: dict[str, str] = {
    "always-nl": "graph_handoff.routing.fixed:AlwaysProse",
    "always-graph": "graph_handoff.routing.fixed:AlwaysGraph",
    "rules": "graph_handoff.routing.rules:RuleRouter",
    "llm": "graph_handoff.routing.llm:LLMRouter",
    "distilled": "graph_handoff.routing.distilled:DistilledRouter",
}
"""Name -> module:class."""

__all__ = ["ROUTERS", "Decision", "Format", "Router", "make_router"]


def make_router(name: str, **options: Any) -> Router:
    """Make the router of that name. `options` are its own (a threshold, a model's run folder). Raises ConfigError."""
    router: Router = make("router", ROUTERS, name, options, ("router", "options"))
    return router
