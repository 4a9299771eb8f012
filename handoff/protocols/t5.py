"""The T5 autoencoder as a protocol: a few code words and the plan's values cross; the receiver's model writes the graph.

    ab cf uz                                   hints and a check sum (`handoff.models.hints`), one o200k token a word
    Mei Kovacs 28236 "Desk Lamp" '3            the values, verbatim, as in the compact form; '3 is the number

Sender and receiver hold the same model. With all the hints it needs, the graph arrives whole whatever the model; a better model
needs fewer. With `hints: 0`, or any other limit, the model goes on alone after the last hint. What the model cannot write at
all (a plan too long) crosses in compact form, behind a `!`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import orjson

from handoff.codec import load_codec
from handoff.delegation import Delegation, Toolset
from handoff.errors import CodecError, GraphError
from handoff.graph import validate
from handoff.models.autoencoder import MAX_TOKENS, GraphAutoencoder, decode_plan, encode_plan
from handoff.models.hints import check_sum, read_hints, write_hints
from handoff.models.locate import find_run
from handoff.plan import Plan
from handoff.protocols.base import Reading
from handoff.scalar import WORD_STOPS, Scalar, format_scalar, scan_scalar

COMPACT_MARK = "!"
MAX_VALUES = 500
MAX_TEXT = 20_000


class T5:
    """Written and read by a trained model. `hints` limits how many a message may hold; None for as many as it needs."""

    name: ClassVar[str] = "t5"

    def __init__(self, run: str | Path, hints: int | None = None) -> None:
        self.folder = find_run(run)
        self.most = hints
        self.autoencoder = GraphAutoencoder.load(self.folder / "model")
        self.compact = load_codec("compact")
        self._sent: dict[str, str] = {}

    def instructions(self, tools: Toolset) -> str:
        """The executor reads the compact form that the model's graph is written out as."""
        return self.compact.instructions(tools)

    def encode(self, delegation: Delegation, seed: int) -> str:
        """The same text for every seed: a delegation is written once."""
        key = f"{delegation.plan.dumps()} {' '.join(delegation.tools)}"
        if key not in self._sent:
            self._sent[key] = self._write(delegation)
        return self._sent[key]

    def _write(self, delegation: Delegation) -> str:
        plan = Plan.from_graph(delegation.plan)[0]
        if not plan.to_graph().same_as(delegation.plan):
            return self._in_compact_form(delegation)
        sent = encode_plan(plan, delegation.tools, self.autoencoder.vocabulary)
        if len(sent.tokens) > MAX_TOKENS or len(sent.values) > MAX_VALUES:
            return self._in_compact_form(delegation)
        hints, written = self.autoencoder.hints(sent, delegation.tools, self.most)
        text = f"{write_hints(hints, written)}\n{write_values(sent.values)}"
        if self.most is None and not self._arrives(text, delegation):
            return self._in_compact_form(delegation)
        return text

    def _in_compact_form(self, delegation: Delegation) -> str:
        return f"{COMPACT_MARK}\n{self.compact.encode(delegation.plan, delegation.tools)}"

    def _arrives(self, text: str, delegation: Delegation) -> bool:
        """The sender reads its own message before it sends it."""
        try:
            graph = self.decode(text, delegation.tools).graph
        except (CodecError, GraphError):
            return False
        return graph is not None and graph.same_as(delegation.plan)

    def decode(self, text: str, tools: Toolset) -> Reading:
        """Raises CodecError (not such a text, another model) or GraphError (the model wrote no valid graph)."""
        if len(text) > MAX_TEXT:
            raise CodecError("the text is too long", found=len(text), allowed=f"at most {MAX_TEXT} characters")
        first, _, rest = text.partition("\n")
        if first == COMPACT_MARK:
            graph = self.compact.decode(rest, tools)
            return Reading(rest, Plan.from_graph(graph)[0], graph)
        hints, expected = read_hints(first)
        values = read_values(rest)
        written = self.autoencoder.write(values, tools, hints)
        if check_sum(written) != expected:
            raise CodecError("the check sum differs: the text is damaged, or the sender has another model")
        plan = decode_plan(written, values, tools, self.autoencoder.vocabulary)
        graph = validate(plan.to_graph())
        return Reading(self.compact.encode(graph, tools), plan, graph)

    def model_info(self) -> dict[str, Any]:
        """What the report says of the model behind the protocol."""
        metrics = orjson.loads((self.folder / "metrics.json").read_bytes()) if (self.folder / "metrics.json").exists() else {}
        parameters = sum(p.numel() for p in self.autoencoder.model.parameters())
        metrics.pop("parameters", None)
        return {"run": self.folder.name, "parameters": parameters, "training": metrics}


def write_values(values: tuple[Scalar, ...]) -> str:
    """The values of a plan in one line."""
    return " ".join(format_scalar(value, WORD_STOPS, "string") for value in values)


def read_values(text: str) -> list[Scalar]:
    """The inverse of `write_values`. Raises CodecError."""
    values: list[Scalar] = []
    at = 0
    while at < len(text):
        value, at = scan_scalar(text, at, WORD_STOPS, "string")
        values.append(value)
        if len(values) > MAX_VALUES:
            raise CodecError(f"more than {MAX_VALUES} values")
        if at < len(text):
            if text[at] != " ":
                raise CodecError("values are separated by a space", found=text[at : at + 20])
            at += 1
    return values
