"""The graph itself on the wire: NGH as JSON, NGH in compact form, and NGH without instructions for the receiver."""

from __future__ import annotations

from typing import ClassVar

from graph_handoff.codec import load_codec
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.plan import Plan
from graph_handoff.protocols.base import Protocol, Reading, Written
from graph_handoff.protocols.prose.reader import read_text


class Minified(Protocol):
    """NGH: minified JSON and the graph executor's instructions."""

    name = "ngh"
    title = "NGH (JSON)"
    short = "NGH JSON"
    meaning = "The plan as a typed graph (NGH) in minified JSON, with executor instructions."
    codec: ClassVar[str] = "json"

    def instructions(self, tools: Toolset) -> str:
        return load_codec(self.codec).instructions(tools)

    def write(self, delegation: Delegation, seed: int) -> Written:
        return Written(load_codec(self.codec).encode(delegation.graph, delegation.tools))

    def read(self, text: str, form: str, tools: Toolset) -> Reading:
        graph = load_codec(self.codec).decode(text, tools)
        return Reading(text, Plan.from_graph(graph), graph)


class Compact(Minified):
    """Compact NGH: the same graph, one line a step."""

    name = "compact"
    title = "Compact NGH"
    short = "Compact"
    meaning = "The same graph in a short line-based text, lossless and without training."
    codec = "compact"


class Bare(Minified):
    """The ablation: the same JSON, but the receiver has no instructions, so it reads it as it reads any other text."""

    name = "ngh-bare"
    title = "NGH without instructions"
    short = "NGH bare"
    meaning = "The same graph without the executor instructions: an ablation."
    decodes = False

    def instructions(self, tools: Toolset) -> str:
        return ""

    def read(self, text: str, form: str, tools: Toolset) -> Reading:
        return Reading(text, read_text(text, tools))
