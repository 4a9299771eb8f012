"""Handoff: the run-time library. Graphs, codecs, delegations and protocols; nothing heavy at import."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_handoff.delegation import Delegation, Tool, Toolset
    from graph_handoff.execution import Execution, Result, execute
    from graph_handoff.graph import Graph
    from graph_handoff.plan import Plan, Step
    from graph_handoff.protocols import load_protocol
    from graph_handoff.reference import Reference, Select
    from graph_handoff.routing.distilled import load_router

__version__ = "0.2.0"

_HOMES = {
    "Delegation": "graph_handoff.delegation",
    "Execution": "graph_handoff.execution",
    "Graph": "graph_handoff.graph",
    "Plan": "graph_handoff.plan",
    "Reference": "graph_handoff.reference",
    "Result": "graph_handoff.execution",
    "Select": "graph_handoff.reference",
    "Step": "graph_handoff.plan",
    "Tool": "graph_handoff.delegation",
    "Toolset": "graph_handoff.delegation",
    "execute": "graph_handoff.execution",
    "load_protocol": "graph_handoff.protocols",
    "load_router": "graph_handoff.routing.distilled",
}
"""Where each public name lives; it is imported when it is first asked for, so that the command line starts quickly."""

__all__ = [
    "Delegation",
    "Execution",
    "Graph",
    "Plan",
    "Reference",
    "Result",
    "Select",
    "Step",
    "Tool",
    "Toolset",
    "execute",
    "load_protocol",
    "load_router",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'graph_handoff' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
