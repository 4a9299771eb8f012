"""Codecs: one lossless text form of a graph per file.

A codec is two functions: `encode(graph, tools) -> str` and `decode(text, tools) -> Graph`, with `decode(encode(g)) == g`. To add
one, write its module and name it in CODECS.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

from graph_handoff.delegation import Toolset
from graph_handoff.graph import Graph
from graph_handoff.registry import known

CODECS = {"json": "graph_handoff.codec.minified", "compact": "graph_handoff.codec.compact"}
"""Name -> module."""


class Codec(Protocol):
    """What a codec's module holds."""

    def encode(self, graph: Graph, tools: Toolset) -> str: ...

    def decode(self, text: str, tools: Toolset) -> Graph:
        """Raises CodecError where the text cannot be read, GraphError where what it says is no valid graph."""
        ...

    def instructions(self, tools: Toolset) -> str:
        """What an executor must be told to read the text."""
        ...


def load_codec(name: str) -> Codec:
    """The codec of that name. Raises ConfigError."""
    return import_module(CODECS[known("codec", CODECS, name)])
