"""Handoff: the run-time library. Graphs, codecs, delegations and protocols; nothing heavy at import."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handoff.delegation import Delegation, Tool, Toolset
    from handoff.execution import Execution, Result, execute
    from handoff.graph import Graph
    from handoff.plan import Plan, Step
    from handoff.protocols import load_protocol
    from handoff.reference import Reference, Select
    from handoff.routing.distilled import load_router

__version__ = "0.1.0"

_HOMES = {
    "Delegation": "handoff.delegation",
    "Execution": "handoff.execution",
    "Graph": "handoff.graph",
    "Plan": "handoff.plan",
    "Reference": "handoff.reference",
    "Result": "handoff.execution",
    "Select": "handoff.reference",
    "Step": "handoff.plan",
    "Tool": "handoff.delegation",
    "Toolset": "handoff.delegation",
    "execute": "handoff.execution",
    "load_protocol": "handoff.protocols",
    "load_router": "handoff.routing.distilled",
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
        raise AttributeError(f"module 'handoff' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
