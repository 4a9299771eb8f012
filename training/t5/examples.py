"""The plans that the autoencoder learns to rebuild, as the tokens of its target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from data.corpus import SPLITS, CorpusRow, read_corpus
from graph_handoff.config import Config
from graph_handoff.console import say
from graph_handoff.delegation import Delegation
from graph_handoff.errors import InputError
from graph_handoff.graph import Graph
from graph_handoff.linearization.constraint import Encoded
from graph_handoff.linearization.vocabulary import Vocabulary
from graph_handoff.protocols.t5.target import Target


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


class PlanRow(NamedTuple):
    """One delegation of the corpus, without its request and its author's own words: what the model has to rebuild."""

    delegation: Delegation
    source: str


def read_rows(corpus: Path) -> dict[str, list[PlanRow]]:
    """The delegations of each split. Raises InputError where there is no corpus."""

    def row(found: CorpusRow) -> PlanRow:
        return PlanRow(Delegation(found.id, "", found.tools, found.delegation.graph), found.source)

    return {split: [row(found) for found in part] for split, part in read_corpus(corpus, SPLITS).items()}


Encodings = dict[str, list[tuple[PlanRow, Encoded]]]
"""Split -> rows, with what the model learns to write of each."""


def encode_rows(
    rows: Mapping[str, Sequence[PlanRow]], target: type[Target], config: VocabularyConfig
) -> tuple[Vocabulary, Encodings]:
    """The vocabulary, from the training split alone, and the rows in it.

    A graph that says more than a plan can is left out and counted: the protocol does not give it to the model either.
    """
    vocabulary = target.build_vocabulary([row.delegation for row in rows["train"]], **config.model_dump())
    own = target(vocabulary)
    encoded: Encodings = {}
    for split, part in rows.items():
        found = [(row, own.encode(row.delegation, own.plain(row.delegation, 0))) for row in part]
        encoded[split] = [(row, sent) for row, sent in found if sent is not None]
        if len(encoded[split]) < len(part):
            say(f"{split}: {len(part) - len(encoded[split])} of {len(part)} left out, their graphs say more than a plan can")
    return vocabulary, encoded


def received(tokens: Sequence[int], row: PlanRow, sent: Encoded, target: Target) -> Graph | None:
    """The graph that a receiver has of what the model wrote (prose is read as docs/reader.md says); None where there is none."""
    try:
        reading = target.decode(tokens, sent.values, row.delegation.tools)
        return reading.graph or reading.plan.to_graph()
    except InputError:
        return None
