"""Handoff: the run-time library. Graphs, codecs, delegations and protocols; nothing heavy at import."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_handoff.delegation import Delegation, Tool, Toolset
    from graph_handoff.errors import (
        CodecError,
        ConfigError,
        GraphError,
        HandoffError,
        InputError,
        MissingDependencyError,
        OutputError,
        UnfaithfulError,
    )
    from graph_handoff.execution import Execution, Result, execute
    from graph_handoff.graph import Graph
    from graph_handoff.plan import Plan, Step
    from graph_handoff.protocols import Protocol, Reading, load_protocol
    from graph_handoff.reference import Reference, Select, parse_reference
    from graph_handoff.routing import Decision, Router, load_router

__version__ = "0.2.0"

_HOMES = {
    "CodecError": "graph_handoff.errors",
    "ConfigError": "graph_handoff.errors",
    "Decision": "graph_handoff.routing",
    "Delegation": "graph_handoff.delegation",
    "Execution": "graph_handoff.execution",
    "Graph": "graph_handoff.graph",
    "GraphError": "graph_handoff.errors",
    "HandoffError": "graph_handoff.errors",
    "InputError": "graph_handoff.errors",
    "MissingDependencyError": "graph_handoff.errors",
    "OutputError": "graph_handoff.errors",
    "Plan": "graph_handoff.plan",
    "Protocol": "graph_handoff.protocols",
    "Reading": "graph_handoff.protocols",
    "Reference": "graph_handoff.reference",
    "Result": "graph_handoff.execution",
    "Router": "graph_handoff.routing",
    "Select": "graph_handoff.reference",
    "Step": "graph_handoff.plan",
    "Tool": "graph_handoff.delegation",
    "Toolset": "graph_handoff.delegation",
    "UnfaithfulError": "graph_handoff.errors",
    "execute": "graph_handoff.execution",
    "load_protocol": "graph_handoff.protocols",
    "load_router": "graph_handoff.routing",
    "parse_reference": "graph_handoff.reference",
}
"""Where each public name lives; it is imported when it is first asked for, so that the command line starts quickly."""

__all__ = [
    "CodecError",
    "ConfigError",
    "Decision",
    "Delegation",
    "Execution",
    "Graph",
    "GraphError",
    "HandoffError",
    "InputError",
    "MissingDependencyError",
    "OutputError",
    "Plan",
    "Protocol",
    "Reading",
    "Reference",
    "Result",
    "Router",
    "Select",
    "Step",
    "Tool",
    "Toolset",
    "UnfaithfulError",
    "execute",
    "load_protocol",
    "load_router",
    "parse_reference",
]


if not TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'graph_handoff' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
