"""The distilled router: a small classifier that was trained to decide as a teacher does, by ONNX Runtime, without torch.

A run or an export holds `router.json` (`RouterCard`), `tokenizer.json` and the networks `onnx/model.onnx`, `onnx/model_int8.onnx`.
The classifier's logits are divided by the card's temperature; its threshold was chosen on a split of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handoff.delegation import Delegation, Toolset
from handoff.errors import InputError, MissingDependencyError
from handoff.models.locate import find_run, model_folder
from handoff.routing.base import Decision, Router

Precision = Literal["int8", "fp32"]
CARD_FILE = "router.json"
TOKENIZER_FILE = "tokenizer.json"
NETWORKS: dict[Precision, str] = {"int8": "model_int8.onnx", "fp32": "model.onnx"}
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
BATCH = 32
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_CHARACTERS_A_TOKEN = 16  # a task is cut to so many per token before it is read: the tokenizer's work stays bounded


class RouterCard(BaseModel):
    """What travels with a router: how it reads, what its scores mean, how its threshold was chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    format: Literal["handoff-router/1"] = "handoff-router/1"
    max_tokens: int = Field(ge=8, le=512)
    """Longer texts are cut: of task and tool words, the longer first, at its end."""
    tool_words: int = Field(ge=0)
    """So many words of the tools' names are shown beside the task."""
    temperature: float = Field(gt=0)
    threshold: float = Field(ge=0, le=1)
    """The graph is chosen where the calibrated score is at least this; prose otherwise."""
    precision: Precision
    """The network that runs where none is asked for."""
    goal: Mapping[str, Any] = Field(default_factory=dict)
    """What the threshold was chosen for, and whether it was reached."""
    achieved: Mapping[str, Any] = Field(default_factory=dict)
    """The rates at the threshold, on the split it was chosen on and on the held-out ones."""
    splits: Mapping[str, Any] = Field(default_factory=dict)
    """Of each split: how many delegations, and the SHA-256 of their texts and labels."""
    teacher: Mapping[str, Any] = Field(default_factory=dict)
    """Whose decisions the labels are."""
    base: str | None = None
    """The pretrained weights it started from; None from scratch."""


def tool_words(tools: Toolset, most: int) -> str:
    """The different words of the tools' names, then of their parameters' names, in order; at most so many."""
    names = [*tools, *(name for tool in tools.values() for name in tool.parameter_names)]
    words = dict.fromkeys(match.group().lower() for name in names for match in _WORD.finditer(name))
    return " ".join(list(words)[:most])


def read_pair(delegation: Delegation, card: RouterCard) -> tuple[str, str]:
    """The two texts that the classifier sees: the task, and the words of its tools. Never the delegation's id or plan."""
    return delegation.task[: card.max_tokens * _CHARACTERS_A_TOKEN], tool_words(delegation.tools, card.tool_words)


def read_tokenizer(path: Path, max_tokens: int) -> Any:
    """The tokenizer, with its own padding off and texts cut at `max_tokens`. Raises InputError, MissingDependencyError."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise _missing("tokenizers") from error
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise InputError(f"not a tokenizer ({error})", file=path) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens, strategy="longest_first")
    return tokenizer


def read_card(path: Path) -> RouterCard:
    """Raises InputError naming the field that is wrong."""
    try:
        return RouterCard.model_validate(orjson.loads(path.read_bytes()))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", file=path) from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({error})", file=path) from error
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(first["msg"], file=path, field=".".join(map(str, first["loc"]))) from None


def open_session(path: Path) -> Any:
    """An ONNX Runtime session on one thread. Raises InputError, MissingDependencyError."""
    try:
        import onnxruntime
    except ImportError as error:
        raise _missing("onnxruntime") from error
    if not path.is_file():
        raise InputError("no such network: train the router again, or export it again", file=path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def logits_of(session: Any, encodings: Sequence[Any]) -> Any:
    """Logits, shape (texts, 2): prose, graph. Shorter texts are padded to the longest; the mask leaves the padding out."""
    import numpy as np

    length = max(len(encoding.ids) for encoding in encodings)
    feed = {name: np.zeros((len(encodings), length), dtype=np.int64) for name in INPUTS}
    for row, encoding in enumerate(encodings):
        size = len(encoding.ids)
        feed["input_ids"][row, :size] = encoding.ids
        feed["attention_mask"][row, :size] = 1
        feed["token_type_ids"][row, :size] = encoding.type_ids
    return session.run(None, feed)[0]


class DistilledRouter(Router):
    """Decides by a trained classifier. Safe to use from several threads at once: nothing changes after it is made."""

    name: ClassVar[str] = "distilled"

    def __init__(self, run: str | Path, precision: Precision | None = None) -> None:
        folder = find_run(run)
        files = model_folder(folder)
        self.card = read_card(files / CARD_FILE)
        self.precision: Precision = precision or self.card.precision
        if self.precision not in NETWORKS:
            raise InputError("unknown precision", found=precision, allowed=NETWORKS)
        self.tokenizer = read_tokenizer(files / TOKENIZER_FILE, self.card.max_tokens)
        self.session = open_session(folder / "onnx" / NETWORKS[self.precision])

    def route(self, delegation: Delegation) -> Decision:
        return self.route_many([delegation])[0]

    def route_many(self, delegations: Sequence[Delegation]) -> list[Decision]:
        """The same decisions as one by one. fp32 runs in batches; int8 one by one, because it scales each batch by its largest
        activation, so that a text's logits would depend on its neighbours."""
        found: list[Decision] = []
        for batch in _batches(delegations, BATCH if self.precision == "fp32" else 1):
            started = perf_counter()
            scores = self.scores(batch)
            seconds = (perf_counter() - started) / len(batch)
            found += [self._decide(score, seconds) for score in scores]
        return found

    def scores(self, delegations: Sequence[Delegation]) -> list[float]:
        """The calibrated probability of the graph, for one batch."""
        import numpy as np

        encodings = self.tokenizer.encode_batch([read_pair(delegation, self.card) for delegation in delegations])
        logits = logits_of(self.session, encodings).astype(np.float64)
        return [float(score) for score in 1 / (1 + np.exp((logits[:, 0] - logits[:, 1]) / self.card.temperature))]

    def _decide(self, score: float, seconds: float) -> Decision:
        chosen = score >= self.card.threshold
        relation = "reaches" if chosen else "is below"
        reason = f"The score {score:.3f} {relation} the threshold {self.card.threshold:.3f}{'' if chosen else ', so prose'}."
        return Decision("graph" if chosen else "nl", score, reason, self.name, seconds=seconds)


def load_router(path_or_hub_id: str | Path, precision: Precision | None = None) -> DistilledRouter:
    """A router from a run's folder, an export, or `hf:ORG/NAME@COMMIT`; `precision` as the artefact says where it is None.

    Raises InputError, DownloadError, MissingDependencyError (ONNX Runtime: `pip install 'handoff[router]'`).
    """
    return DistilledRouter(path_or_hub_id, precision)


def _batches(delegations: Sequence[Delegation], size: int) -> Iterable[Sequence[Delegation]]:
    return (delegations[at : at + size] for at in range(0, len(delegations), size))


def _missing(package: str) -> MissingDependencyError:
    return MissingDependencyError(f"the distilled router needs {package}: pip install 'handoff[router]'")
