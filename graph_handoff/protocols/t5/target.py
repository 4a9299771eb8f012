"""What the T5 learns to rebuild, and all that depends on it: the plan's graph, or in the ablation its prose.

A target goes both ways (delegation -> tokens -> reading), says which token may come next, builds its vocabulary from training
data, and tells the executor how to read what arrives. The protocol, the autoencoder and the training ask it and never ask which
of the two it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from graph_handoff.codec import load_codec
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.graph import validate
from graph_handoff.linearization.constraint import DecodingConstraint, Encoded
from graph_handoff.linearization.graph_tokens import GraphConstraint, decode_plan, encode_plan
from graph_handoff.linearization.text_tokens import (
    TextConstraint,
    add_text_phrases,
    build_text_vocabulary,
    decode_text,
    encode_text,
)
from graph_handoff.linearization.vocabulary import Vocabulary, add_phrases, build_vocabulary
from graph_handoff.linearization.writer import linearize
from graph_handoff.plan import Plan
from graph_handoff.protocols.base import Reading
from graph_handoff.protocols.prose.protocol import Prose
from graph_handoff.protocols.prose.reader import read_text
from graph_handoff.scalar import Scalar

Supervision = Literal["graph", "text"]
"""The name of a target, as the configuration has it."""


class Target(ABC):
    """What a model with this vocabulary writes."""

    max_tokens: ClassVar[int]
    """The model does not write a longer plan."""
    plain_form: ClassVar[str]
    """The form of what is sent where the model cannot write it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @classmethod
    @abstractmethod
    def build_vocabulary(
        cls, delegations: Sequence[Delegation], *, merges: int, min_plans: int, min_share: float, max_categories: int
    ) -> Vocabulary:
        """From training data: see `linearization.vocabulary` for what becomes a word. `merges` phrases are joined at most."""

    @abstractmethod
    def instructions(self, tools: Toolset) -> str:
        """What the executor must be told to read it."""

    @abstractmethod
    def plain(self, delegation: Delegation, seed: int) -> str:
        """What is sent where the model cannot write it."""

    @abstractmethod
    def read_plain(self, text: str, tools: Toolset) -> Reading:
        """The inverse of `plain`. Raises CodecError, GraphError."""

    @abstractmethod
    def encode(self, delegation: Delegation, plain: str) -> Encoded | None:
        """What the model is to write; None where that would not be the same as the delegation."""

    @abstractmethod
    def decode(self, tokens: Sequence[int], values: Sequence[Scalar], tools: Toolset) -> Reading:
        """What the model wrote. Raises CodecError, GraphError."""

    @abstractmethod
    def constraint(self, values: Sequence[Scalar], tools: Toolset) -> DecodingConstraint:
        """Which tokens may come next; at the beginning."""

    @abstractmethod
    def is_same(self, reading: Reading, delegation: Delegation, plain: str) -> bool:
        """Has all of it arrived?"""


class GraphTarget(Target):
    """The graph, as lines of the grammar; the executor reads it in compact form."""

    max_tokens = 120
    plain_form = "compact"

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.compact = load_codec("compact")

    @classmethod
    def build_vocabulary(
        cls, delegations: Sequence[Delegation], *, merges: int, min_plans: int, min_share: float, max_categories: int
    ) -> Vocabulary:
        plans = [(Plan.from_graph(delegation.graph), delegation.tools) for delegation in delegations]
        words = build_vocabulary(plans, min_plans=min_plans, min_share=min_share, max_categories=max_categories)
        lines = [line for plan, tools in plans for line in linearize(plan, tools, words.words)]
        return add_phrases(words, lines, merges)

    def instructions(self, tools: Toolset) -> str:
        return self.compact.instructions(tools)

    def plain(self, delegation: Delegation, seed: int) -> str:
        return self.compact.encode(delegation.graph, delegation.tools)

    def read_plain(self, text: str, tools: Toolset) -> Reading:
        graph = self.compact.decode(text, tools)
        return Reading(text, Plan.from_graph(graph), graph)

    def encode(self, delegation: Delegation, plain: str) -> Encoded | None:
        plan = Plan.from_graph(delegation.graph)
        return encode_plan(plan, delegation.tools, self.vocabulary) if plan.to_graph().same_as(delegation.graph) else None

    def decode(self, tokens: Sequence[int], values: Sequence[Scalar], tools: Toolset) -> Reading:
        plan = decode_plan(tokens, values, tools, self.vocabulary)
        graph = validate(plan.to_graph())
        return Reading(self.compact.encode(graph, tools), plan, graph)

    def constraint(self, values: Sequence[Scalar], tools: Toolset) -> DecodingConstraint:
        return GraphConstraint(self.vocabulary, values, tools)

    def is_same(self, reading: Reading, delegation: Delegation, plain: str) -> bool:
        return reading.graph is not None and reading.graph.same_as(delegation.graph)


class TextTarget(Target):
    """The plan as the prose baseline phrases it, without the request; the executor reads the prose, there is no graph."""

    max_tokens = 320
    plain_form = Prose.name

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.prose = Prose()

    @classmethod
    def build_vocabulary(
        cls, delegations: Sequence[Delegation], *, merges: int, min_plans: int, min_share: float, max_categories: int
    ) -> Vocabulary:
        prose = Prose()  # a text has no roles: `max_categories` says nothing about it
        texts = [prose.text_of(replace(delegation, task=""), 0) for delegation in delegations]
        words = build_text_vocabulary(texts, min_plans=min_plans, min_share=min_share)
        return add_text_phrases(words, texts, merges)

    def instructions(self, tools: Toolset) -> str:
        return self.prose.instructions(tools)

    def plain(self, delegation: Delegation, seed: int) -> str:
        return self.prose.text_of(replace(delegation, task=""), seed)

    def read_plain(self, text: str, tools: Toolset) -> Reading:
        return Reading(text, read_text(text, tools))

    def encode(self, delegation: Delegation, plain: str) -> Encoded | None:
        return encode_text(plain, self.vocabulary)

    def decode(self, tokens: Sequence[int], values: Sequence[Scalar], tools: Toolset) -> Reading:
        return self.read_plain(decode_text(tokens, values, self.vocabulary), tools)

    def constraint(self, values: Sequence[Scalar], tools: Toolset) -> DecodingConstraint:
        return TextConstraint(self.vocabulary, values)

    def is_same(self, reading: Reading, delegation: Delegation, plain: str) -> bool:
        return reading.text == plain


TARGETS: Mapping[Supervision, type[Target]] = {"graph": GraphTarget, "text": TextTarget}
