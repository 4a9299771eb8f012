"""Protocols: one way to write a handoff a file.

To add one: a module with a class that has the methods of `Protocol`, and a line in PROTOCOLS.
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any

from handoff.errors import ConfigError, did_you_mean
from handoff.protocols.base import Protocol, Reading

PROTOCOLS: dict[str, str] = {
    "nl": "handoff.protocols.prose:Prose",
    "ngh": "handoff.protocols.graph:Minified",
    "ngh-bare": "handoff.protocols.graph:Bare",
    "compact": "handoff.protocols.graph:Compact",
    "tfidf": "handoff.protocols.tfidf:TfIdf",
    "t5": "handoff.protocols.t5:T5",
}
"""Name -> module:class."""

__all__ = ["PROTOCOLS", "Protocol", "Reading", "load_protocol"]


def load_protocol(name: str, **options: Any) -> Protocol:
    """Make the protocol of that name. `options` are its own (a model's run folder, a ratio). Raises ConfigError."""
    if name not in PROTOCOLS:
        raise ConfigError(f"unknown protocol{did_you_mean(name, PROTOCOLS)}", found=name, allowed=PROTOCOLS)
    module, cls = PROTOCOLS[name].split(":")
    kind = getattr(import_module(module), cls)
    try:
        signature(kind).bind(**options)
    except TypeError as error:
        raise ConfigError(f"protocol {name}: {error}", field="options", found=options or None) from error
    made: Protocol = kind(**options)
    return made
