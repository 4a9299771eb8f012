"""What the T5's message is about: the plan's graph, or for a model without graph supervision the plan in prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from graph_handoff.codec import load_codec
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.graph import validate
from graph_handoff.linearization.constraint import Encoded
from graph_handoff.linearization.graph_tokens import decode_plan, encode_plan
from graph_handoff.linearization.text_tokens import decode_text, encode_text
from graph_handoff.linearization.vocabulary import Vocabulary
from graph_handoff.plan import Plan
from graph_handoff.protocols.base import Reading
from graph_handoff.protocols.prose.protocol import Prose
from graph_handoff.protocols.prose.reader import read_text
from graph_handoff.protocols.t5.autoencoder import Supervision
from graph_handoff.scalar import Scalar


class Content(Protocol):
    """Delegation -> what the model writes -> reading."""

    plain_form: str
    """The form of what crosses where the model cannot write it."""

    def __init__(self, vocabulary: Vocabulary) -> None: ...

    def instructions(self, tools: Toolset) -> str:
        """What the executor must be told to read it."""
        ...

    def plain(self, delegation: Delegation, seed: int) -> str:
        """What crosses where the model cannot write it."""
        ...

    def encode(self, delegation: Delegation, plain: str) -> Encoded | None:
        """What the model is to write; None where that would not be the same."""
        ...

    def read(self, tokens: Sequence[int], values: Sequence[Scalar], tools: Toolset) -> Reading:
        """What the model wrote. Raises CodecError, GraphError."""
        ...

    def read_plain(self, text: str, tools: Toolset) -> Reading:
        """The inverse of `plain`. Raises CodecError, GraphError."""
        ...

    def is_same(self, reading: Reading, delegation: Delegation, plain: str) -> bool:
        """Has all of it arrived?"""
        ...


class GraphContent:
    """The graph; the executor reads it in compact form."""

    plain_form = "compact"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.compact = load_codec("compact")

    def instructions(self, tools: Toolset) -> str:
        return self.compact.instructions(tools)

    def plain(self, delegation: Delegation, seed: int) -> str:
        return self.compact.encode(delegation.graph, delegation.tools)

    def encode(self, delegation: Delegation, plain: str) -> Encoded | None:
        plan = Plan.from_graph(delegation.graph)
        return encode_plan(plan, delegation.tools, self.vocabulary) if plan.to_graph().same_as(delegation.graph) else None

    def read(self, tokens: Sequence[int], values: Sequence[Scalar], tools: Toolset) -> Reading:
        plan = decode_plan(tokens, values, tools, self.vocabulary)
        graph = validate(plan.to_graph())
        return Reading(self.compact.encode(graph, tools), plan, graph)

    def read_plain(self, text: str, tools: Toolset) -> Reading:
        graph = self.compact.decode(text, tools)
        return Reading(text, Plan.from_graph(graph), graph)

    def is_same(self, reading: Reading, delegation: Delegation, plain: str) -> bool:
        return reading.graph is not None and reading.graph.same_as(delegation.graph)


class ProseContent:
    """The plan in words, as the prose baseline phrases it, without the request; no graph."""

    plain_form = Prose.name

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.prose = Prose()

    def instructions(self, tools: Toolset) -> str:
        return self.prose.instructions(tools)

    def plain(self, delegation: Delegation, seed: int) -> str:
        return self.prose.text_of(replace(delegation, task=""), seed)

    def encode(self, delegation: Delegation, plain: str) -> Encoded | None:
        return encode_text(plain, self.vocabulary)

    def read(self, tokens: Sequence[int], values: Sequence[Scalar], tools: Toolset) -> Reading:
        return self.read_plain(decode_text(tokens, values, self.vocabulary), tools)

    def read_plain(self, text: str, tools: Toolset) -> Reading:
        return Reading(text, read_text(text, tools))

    def is_same(self, reading: Reading, delegation: Delegation, plain: str) -> bool:
        return reading.text == plain


CONTENTS: Mapping[Supervision, type[Content]] = {"graph": GraphContent, "text": ProseContent}
