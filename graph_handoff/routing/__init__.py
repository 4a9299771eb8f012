"""Routing: who decides, before a delegation is sent, whether it goes as a graph or as prose. One router per file.

To add one: a module with a class that derives from `Router`, and a line in ROUTERS. One of another package needs no line:
its name is its `module:Class`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graph_handoff.registry import Registry, is_dotted
from graph_handoff.routing.base import Decision, Format, Router

ROUTERS: Registry[Router] = Registry(
    "router",
    Router,
    {
        "always-nl": "graph_handoff.routing.fixed:AlwaysProse",
        "always-graph": "graph_handoff.routing.fixed:AlwaysGraph",
        "rules": "graph_handoff.routing.rules:RuleRouter",
        "llm": "graph_handoff.routing.llm:LLMRouter",
        "distilled": "graph_handoff.routing.distilled:DistilledRouter",
    },
)

__all__ = ["ROUTERS", "Decision", "Format", "Router", "load_router", "make_router"]


def make_router(name: str, **options: Any) -> Router:
    """Make the router that a configuration names, of the table or a `module:Class`. `options` are its own (a threshold, a model's
    run folder). Raises ConfigError."""
    return ROUTERS.make(name, options, ("router", "options"))


def load_router(router: str | Path, **options: Any) -> Router:
    """Make a router: by its name in ROUTERS, by its `module:Class`, or a distilled one by its run, its export, or
    `hf:ORG/NAME@COMMIT`. `options` are its own.

    Raises ConfigError, and what the router raises, such as InputError or MissingDependencyError.
    """
    if isinstance(router, str) and (router in ROUTERS or is_dotted(router)):
        return make_router(router, **options)
    return make_router("distilled", run=router, **options)
