"""The T5 graph autoencoder: an encoder-decoder that rebuilds a plan's graph from a few words and the values that it holds.

    sender     the plan's tokens, written by the same model: wherever its choice is wrong, a correction
    message    corrections (one word each, `rank_correction`), and the plan's values, verbatim
    receiver   values -> T5 encoder -> T5 decoder, corrected where the message says so -> the plan's tokens -> plan, graph

The encoder reads what is known of the values (their shapes, and those that are frequent), so an email or an order number already
says much about the calls. The decoder writes runs of words (`vocabulary`) and can only write what the grammar allows. It never
writes a value: those are restored from the message.

What it writes is recorded with the model: the graph, or in the ablation without graph supervision the prose (`target`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError, InputError
from graph_handoff.extras import Extra
from graph_handoff.files import write_text
from graph_handoff.linearization.constraint import END_TOKEN, DecodingConstraint, Encoded
from graph_handoff.linearization.vocabulary import Vocabulary
from graph_handoff.protocols.t5.rank_correction import RankCorrection
from graph_handoff.protocols.t5.target import TARGETS, Supervision
from graph_handoff.scalar import Scalar

if TYPE_CHECKING:
    from transformers import T5ForConditionalGeneration

PACKAGES = Extra("models", "the T5 autoencoder")
VOCABULARY_FILE = "vocabulary.json"
CLOSE_CALL = 0.02
"""Where the second choice is as near as this (in logits), the sender corrects although the first is right: another machine
may round differently."""


def inputs_of(values: Sequence[Scalar], vocabulary: Vocabulary) -> list[int]:
    """The encoder's input: for each value the id of its shape, then its own where it is a frequent one; END_TOKEN's id never."""
    ids = []
    for value in values:
        shape, known = vocabulary.features(value)
        ids += [shape or vocabulary.unknown] + ([known] if known else [])
    return ids or [vocabulary.unknown]


Pick = Callable[[int, DecodingConstraint, Any], int]
"""(place, constraint there, logits) -> the token to write."""


class GraphAutoencoder:
    """A T5 with a vocabulary: writes a plan's tokens, with corrections."""

    def __init__(self, model: T5ForConditionalGeneration, vocabulary: Vocabulary) -> None:
        self.model, self.vocabulary = model, vocabulary
        model.train(False)
        self.offset = int(getattr(model.config, "token_offset", 0))
        self.supervision: Supervision = getattr(model.config, "supervision", "graph")
        self.target = TARGETS[self.supervision](vocabulary)

    @classmethod
    def load(cls, folder: Path) -> GraphAutoencoder:
        """From a run's `model` folder: safetensors, no code. Raises InputError, MissingDependencyError."""
        with PACKAGES:
            import torch  # noqa: F401  # without it transformers gives a stand-in that fails when it is used
            from safetensors import SafetensorError
            from transformers import T5ForConditionalGeneration
            from transformers.utils import logging

        file = folder / VOCABULARY_FILE
        if not file.exists():
            raise InputError("holds no trained autoencoder", file=folder)
        logging.disable_progress_bar()
        vocabulary = Vocabulary.from_json(orjson.loads(file.read_bytes()))
        try:
            return cls(T5ForConditionalGeneration.from_pretrained(folder, use_safetensors=True), vocabulary)
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            raise InputError(f"the model cannot be read: {str(error).splitlines()[0]}", file=folder) from error

    def save(self, folder: Path) -> None:
        """Model, configuration and vocabulary."""
        self.model.save_pretrained(folder, safe_serialization=True)
        write_text(folder / VOCABULARY_FILE, orjson.dumps(self.vocabulary.to_json()).decode())

    def corrections(self, plan: Encoded, tools: Toolset, most: int | None = None) -> tuple[list[RankCorrection], list[int]]:
        """The corrections that make the model write `plan`, at most `most` of them, and what it then writes.

        With fewer corrections than it needs the model continues on its own after the last one.
        """
        found: list[RankCorrection] = []

        def pick(place: int, constraint: DecodingConstraint, logits: Any) -> int:
            ranked = _rank(logits)
            true = plan.tokens[place] if place < len(plan.tokens) else None
            best = _first(constraint.allowed(ranked))
            if true is None or (most is not None and len(found) >= most):
                return best
            if best != true or _is_close(logits, ranked, constraint):
                rank = next(rank for rank, token in enumerate(constraint.allowed(ranked)) if token == true)
                found.append(RankCorrection(place, rank))
            return true

        tokens = self._write(plan.values, tools, pick)
        return found, tokens

    def write(self, values: Sequence[Scalar], tools: Toolset, corrections: Sequence[RankCorrection]) -> list[int]:
        """What the model writes with these corrections. Raises CodecError where a correction has no such choice."""
        ranks = dict(corrections)

        def pick(place: int, constraint: DecodingConstraint, logits: Any) -> int:
            rank = ranks.get(place, 0)
            for number, token in enumerate(constraint.allowed(_rank(logits))):
                if number == rank:
                    return token
            raise CodecError("a correction for a choice that is not there", found=rank)

        return self._write(values, tools, pick)

    def _write(self, values: Sequence[Scalar], tools: Toolset, pick: Pick) -> list[int]:
        with PACKAGES:
            import torch

        constraint = self.target.constraint(values, tools)
        written: list[int] = []
        with torch.inference_mode():
            ids = torch.tensor([[i + self.offset for i in inputs_of(values, self.vocabulary)]])
            memory = self.model.encoder(input_ids=ids)
            token, cache = END_TOKEN, None
            for place in range(self.target.max_tokens):
                start = self.model.config.decoder_start_token_id if place == 0 else token + self.offset
                out = self.model(encoder_outputs=memory, decoder_input_ids=torch.tensor([[start]]), use_cache=True, cache=cache)
                cache = out.cache
                size = self.vocabulary.output_size
                token = pick(place, constraint, out.logits[0, -1, self.offset : self.offset + size].float())
                constraint.move(token)
                written.append(token)
                if token == END_TOKEN:
                    break
        return written


def _rank(logits: Any) -> list[int]:
    """Tokens, the likeliest first; of equal ones the lower id, whatever the machine."""
    ranked: list[int] = (-logits).argsort(stable=True).tolist()
    return ranked


def _first(tokens: Iterator[int]) -> int:
    found = next(tokens, None)
    if found is None:
        raise CodecError("the model has written itself into a corner: nothing may come next")
    return found


def _is_close(logits: Any, ranked: Sequence[int], constraint: DecodingConstraint) -> bool:
    nearest = list(islice(constraint.allowed(ranked), 2))
    return len(nearest) == 2 and bool(logits[nearest[0]] - logits[nearest[1]] < CLOSE_CALL)
