"""The graph itself on the wire: NGH as JSON, NGH in compact form, and NGH with a receiver that was not told how to read it."""

from __future__ import annotations

from typing import ClassVar

from graph_handoff.codec import load_codec
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.plan import Plan
from graph_handoff.protocols.base import Reading
from graph_handoff.protocols.prose.reader import read_text


class Minified:
    """NGH: minified JSON and the graph executor's instructions."""

    name: ClassVar[str] = "ngh"
    codec: ClassVar[str] = "json"

    def instructions(self, tools: Toolset) -> str:
        return load_codec(self.codec).instructions(tools)

    def encode(self, delegation: Delegation, seed: int) -> str:
        return load_codec(self.codec).encode(delegation.graph, delegation.tools)

    def decode(self, text: str, tools: Toolset) -> Reading:
        graph = load_codec(self.codec).decode(text, tools)
        return Reading(text, Plan.from_graph(graph), graph)


class Compact(Minified):
    """Compact NGH: the same graph, one line a step."""

    name: ClassVar[str] = "compact"
    codec: ClassVar[str] = "compact"


class Bare(Minified):
    """The ablation: the same JSON, but the receiver has no instructions, so it reads it as it reads any other text."""

    name: ClassVar[str] = "ngh-bare"

    def instructions(self, tools: Toolset) -> str:
        return ""

    def decode(self, text: str, tools: Toolset) -> Reading:
        return Reading(text, read_text(text, tools))
