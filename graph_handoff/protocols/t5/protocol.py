"""The T5 autoencoder as a protocol: a few code words and the plan's values cross; the receiver's model writes the graph.

    ab cf uz                                   corrections and a check sum (`rank_correction`), one o200k token a word
    Mei Kovacs 28236 "Desk Lamp" '3            the values, verbatim, as in the compact form; '3 is the number

Sender and receiver hold the same model. With all the corrections it needs, the graph arrives whole whatever the model; a
better model needs fewer. With `corrections: 0`, or any other limit, the model continues alone after the last one. What the
model cannot write at all (a plan too long) crosses in compact form, behind a `!`.

A model that was trained without graph supervision (`supervision: text`) writes the prose instead, and all of this holds for it;
what it cannot write crosses as prose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from graph_handoff.artefacts import count_parameters, find_run, model_folder, run_info
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.errors import CodecError, GraphError
from graph_handoff.faithfulness import check_faithful, sources_of
from graph_handoff.linearization.value_line import MAX_VALUES, read_values, write_values
from graph_handoff.protocols.base import Reading
from graph_handoff.protocols.t5.autoencoder import GraphAutoencoder
from graph_handoff.protocols.t5.rank_correction import check_sum, read_corrections, write_corrections

PLAIN_MARK = "!"
MAX_TEXT = 20_000


class T5:
    """Written and read by a trained model. `corrections` limits how many a message may hold; None: as many as it needs."""

    name: ClassVar[str] = "t5"

    def __init__(self, run: str | Path, corrections: int | None = None) -> None:
        self.folder = find_run(run, ("train t5",), "run")
        self.most = corrections
        self.autoencoder = GraphAutoencoder.load(model_folder(self.folder))
        self.target = self.autoencoder.target
        self._sent: dict[tuple[str, ...], str] = {}

    def instructions(self, tools: Toolset) -> str:
        """For what the executor reads: the compact form that the model's graph is written out as, or prose."""
        return self.target.instructions(tools)

    def encode(self, delegation: Delegation, seed: int) -> str:
        """The same text for every seed, but where the model writes prose: `seed` chooses the phrasing that it writes."""
        plain = self.target.plain(delegation, seed)
        key = (plain, *delegation.tools)
        if key not in self._sent:
            self._sent[key] = self._write(delegation, plain)
        return self._sent[key]

    def _write(self, delegation: Delegation, plain: str) -> str:
        whole = f"{PLAIN_MARK}\n{plain}"
        sent = self.target.encode(delegation, plain)
        if sent is None or len(sent.tokens) > self.target.max_tokens or len(sent.values) > MAX_VALUES:
            return whole
        corrections, written = self.autoencoder.corrections(sent, delegation.tools, self.most)
        values = write_values(sent.values)
        arrives = self._arrives(written, values, delegation, plain)
        return f"{write_corrections(corrections, written)}\n{values}" if arrives or self.most is not None else whole

    def _arrives(self, written: list[int], values: str, delegation: Delegation, plain: str) -> bool:
        """The sender reads what the receiver's model will write. Raises UnfaithfulError where that says what the delegation does
        not: the model cannot write a value of its own, but left alone it can name a result's field that the plan does not use."""
        try:
            reading = self.target.decode(written, read_values(values), delegation.tools)
        except (CodecError, GraphError):
            return False
        if self.target.is_same(reading, delegation, plain):
            return True
        if self.most is not None:
            check_faithful(reading.text, sources_of(delegation))
        return False

    def decode(self, text: str, tools: Toolset) -> Reading:
        """Raises CodecError (not such a text, another model) or GraphError (the model wrote no valid graph)."""
        if len(text) > MAX_TEXT:
            raise CodecError("the text is too long", found=len(text), allowed=f"at most {MAX_TEXT} characters")
        first, _, rest = text.partition("\n")
        if first == PLAIN_MARK:
            return self.target.read_plain(rest, tools)
        corrections, expected = read_corrections(first)
        values = read_values(rest)
        written = self.autoencoder.write(values, tools, corrections)
        if check_sum(written) != expected:
            raise CodecError("the check sum differs: the text is damaged, or the sender has another model")
        return self.target.decode(written, values, tools)

    def model_info(self) -> dict[str, Any]:
        """What the report says of the model behind the protocol."""
        return run_info(self.folder, count_parameters(self.autoencoder.model))
