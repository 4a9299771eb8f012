"""Protocols: one way to write a handoff a file.

To add one: a module with a class that has the methods of `Protocol`, and a line in PROTOCOLS.
"""

from __future__ import annotations

from typing import Any

from handoff.protocols.base import Protocol, Reading, Routing
from handoff.registry import make

PROTOCOLS: dict[str, str] = {
    "nl": "handoff.protocols.prose:Prose",
    "ngh": "handoff.protocols.graph:Minified",
    "ngh-bare": "handoff.protocols.graph:Bare",
    "compact": "handoff.protocols.graph:Compact",
    "routed": "handoff.protocols.routed:Routed",
    "tfidf": "handoff.protocols.tfidf:TfIdf",
    "lingua": "handoff.protocols.lingua:LinguaProse",
    "hybrid": "handoff.protocols.hybrid:Hybrid",
    "rl": "handoff.protocols.rl:Rl",
    "t5": "handoff.protocols.t5:T5",
    "delta": "handoff.protocols.delta:Delta",
}
"""Name -> module:class."""

__all__ = ["PROTOCOLS", "Protocol", "Reading", "Routing", "load_protocol"]


def load_protocol(name: str, **options: Any) -> Protocol:
    """Make the protocol of that name. `options` are its own (a model's run folder, a ratio). Raises ConfigError."""
    protocol: Protocol = make("protocol", PROTOCOLS, name, options)
    return protocol
