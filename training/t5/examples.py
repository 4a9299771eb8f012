"""The plans that the autoencoder learns to rebuild, as tokens: their graphs, or without graph supervision their prose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from data.corpus import SPLITS, CorpusRow, read_corpus
from graph_handoff.config import Config
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.errors import InputError
from graph_handoff.graph import Graph
from graph_handoff.linearization.constraint import Encoded
from graph_handoff.linearization.graph_tokens import decode_plan, encode_plan
from graph_handoff.linearization.text_tokens import add_text_phrases, build_text_vocabulary, decode_text, encode_text
from graph_handoff.linearization.vocabulary import Vocabulary, add_phrases, build_vocabulary
from graph_handoff.linearization.writer import linearize
from graph_handoff.plan import Plan
from graph_handoff.protocols.prose.protocol import Prose
from graph_handoff.protocols.prose.reader import read_text
from graph_handoff.protocols.t5.autoencoder import Supervision


class VocabularyConfig(Config):
    """What becomes a word or a phrase; the rest is lifted out as a value."""

    merges: int = Field(400, ge=0)
    """Runs of words joined into one token."""
    min_plans: int = Field(5, ge=1)
    """A key becomes a word when the tools, or so many training plans, have it; a word of the prose when so many plans do."""
    min_share: float = Field(0.01, gt=0, lt=1)
    """A constant value, or in prose a text in quotes, becomes a word when this share of the training plans has it."""
    max_categories: int = Field(8, ge=1)
    """... and its role has at most so many different values. Prose has no roles."""


class Row(NamedTuple):
    """One delegation of the corpus."""

    plan: Plan
    tools: Toolset
    source: str
    text: str
    """The plan in prose, without the request; empty where the graph is learned."""


def read_rows(corpus: Path, supervision: Supervision) -> dict[str, list[Row]]:
    """The delegations of each split. Raises InputError where there is no corpus."""
    prose = Prose()

    def row(found: CorpusRow) -> Row:
        bare = Delegation(found.id, "", found.tools, found.delegation.graph)
        return Row(found.plan, found.tools, found.source, prose.text_of(bare, 0) if supervision == "text" else "")

    return {split: [row(found) for found in part] for split, part in read_corpus(corpus, SPLITS).items()}


def make_vocabulary(rows: Sequence[Row], config: VocabularyConfig, supervision: Supervision) -> Vocabulary:
    """From the training split alone."""
    if supervision == "text":
        texts = [row.text for row in rows]
        words = build_text_vocabulary(texts, min_plans=config.min_plans, min_share=config.min_share)
        return add_text_phrases(words, texts, config.merges)
    plans = [(row.plan, row.tools) for row in rows]
    words = build_vocabulary(plans, min_plans=config.min_plans, min_share=config.min_share, max_categories=config.max_categories)
    lines = [line for plan, tools in plans for line in linearize(plan, tools, words.words)]
    return add_phrases(words, lines, config.merges)


def encode_row(row: Row, vocabulary: Vocabulary, supervision: Supervision) -> Encoded:
    """What the model learns to write of a delegation."""
    return encode_text(row.text, vocabulary) if supervision == "text" else encode_plan(row.plan, row.tools, vocabulary)


def received(tokens: Sequence[int], row: Row, sent: Encoded, vocabulary: Vocabulary, supervision: Supervision) -> Graph | None:
    """The graph that a receiver has of what the model wrote (prose is read as docs/reader.md says); None where there is none."""
    try:
        if supervision == "text":
            return read_text(decode_text(tokens, sent.values, vocabulary), row.tools).to_graph()
        return decode_plan(tokens, sent.values, row.tools, vocabulary).to_graph()
    except InputError:
        return None
