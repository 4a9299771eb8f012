"""The wrapper of LLMLingua-2: only this module uses the `llmlingua` package.

The library reseeds the global random generators, downloads a tokenizer for its own statistics, lets a model bring code, tells the
tokenizer's family from a part of the model's name, uses BERT's special tokens for every model, and pads each chunk to 512 tokens.
Here its constructor is not run; its two loading steps are, with what they change put back. Its own method chooses the words.

What it chooses are labels. The text that is sent is put together from the source's own spans (`spans`), so a quoted
value or an identifier is there verbatim or not at all, and no word is made up.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_handoff.artefacts import count_parameters
from graph_handoff.errors import CodecError, ConfigError, InputError, MissingDependencyError
from graph_handoff.extras import Extra
from graph_handoff.faithfulness import unfaithful
from graph_handoff.spans import Span, join_spans, split_spans
from graph_handoff.tokens import count_tokens

PACKAGES = Extra("models", "LLMLingua-2")
FAMILIES = {"bert": "bert-base-multilingual-cased", "xlm-roberta": "xlm-roberta-large"}
"""A configuration's `model_type` -> the part of a model's name by which the library tells how words are marked."""
MAX_TEXT = 200_000
_MAX_TOKENS = 510  # a chunk, without its two special tokens
_WORD_STOP, _LABEL_STOP = "\x1e", "\x1f"
_SLACK = 24  # characters between two words that the tokenizer may leave out


@dataclass(frozen=True)
class Compressed:
    """A text after compression."""

    text: str
    asked: float | None
    """The share of the tokens that was to stay; None where the classifier's own threshold decided."""
    achieved: float
    """The share that stayed, in o200k tokens; 1 for an empty text."""


class Lingua:
    """A token classifier as a compressor."""

    def __init__(self, model: str | Path, revision: str | None = None) -> None:
        """Load a model folder, or a model of the Hub by id and revision (its commit).

        Raises ConfigError (an id without a revision), InputError (not such a model), MissingDependencyError (not here and
        offline, or the package is not installed).
        """
        self.model, self.revision = str(model), revision
        local = Path(model).is_dir()
        if not local and revision is None:
            raise ConfigError(
                "a model of the Hub needs the revision that is meant: the commit in its page's history",
                field="revision",
                found=self.model,
            )
        with _kept_state():
            self._compressor = _load(self.model, revision, local)
        added = len(self._compressor.added_tokens) * self._compressor.model.config.hidden_size
        self.parameters = count_parameters(self._compressor.model) - added
        """Of the model as it was trained, without the embeddings that the library adds."""

    def compress(self, text: str, rate: float | None = None) -> Compressed:
        """Leave out what the classifier holds for unneeded.

        `rate` is the share of tokens that the library is asked to keep, above 0 and up to 1; None keeps each span of which the
        classifier thinks so. Raises ConfigError, CodecError (the text is too long).
        """
        if rate is not None and not 0 < rate <= 1:
            raise ConfigError("a share of the tokens", field="rate", found=rate, allowed="above 0, up to 1; null for a threshold")
        if len(text) > MAX_TEXT:
            raise CodecError("the text is too long", found=len(text), allowed=f"at most {MAX_TEXT} characters")
        spans = split_spans(text)
        if rate == 1 or not spans:
            return Compressed(text, rate, 1.0)
        scores = [0.0] * len(text)  # of each character: how much it is to stay
        with _kept_state():
            for start, end in self._chunks(text, spans):
                for begin, stop, score in self._scored(text[start:end], rate):
                    scores[start + begin : start + stop] = [score] * (stop - begin)
        kept = [span for span in spans if _mean(scores, text, span) > 0.5]
        short = join_spans(text, kept)
        if unfaithful(short, [text]):
            raise CodecError("compression would make up an identifier", found=unfaithful(short, [text]))
        return Compressed(short, rate, count_tokens(short) / count_tokens(text))

    def _chunks(self, text: str, spans: Sequence[Span]) -> Iterator[Span]:
        """Parts of the text that the model can read at once; they end with a line where that is possible."""
        tokens = self._compressor.tokenizer.offsets(text)
        starts = [start for start, _ in tokens]
        first = 0
        while first < len(starts):
            last = min(first + _MAX_TOKENS, len(starts))
            if last < len(starts):
                ends = [place for place in range(first + 1, last) if "\n" in text[starts[place - 1] : starts[place]]]
                borders = {start for start, _ in spans}
                whole = [place for place in range(first + 1, last) if starts[place] in borders]
                last = (ends or whole or [last])[-1]
            yield starts[first], starts[last] if last < len(starts) else len(text)
            first = last

    def _scored(self, chunk: str, rate: float | None) -> Iterator[tuple[int, int, float]]:
        """Start, end and score of the chunk's words."""
        if rate is None:
            yield from self._probabilities(chunk)
            return
        compressor = self._compressor
        tokens = compressor.tokenizer.tokenize(chunk)
        if all(token in compressor.special_tokens for token in tokens):
            return  # nothing that the model knows; the library would take a percentile of no words
        compressor.max_seq_len = len(tokens) + 2
        try:
            found = compressor.compress_prompt_llmlingua2(
                [chunk], rate=rate, return_word_label=True, word_sep=_WORD_STOP, label_sep=_LABEL_STOP
            )
        except (IndexError, ValueError) as error:  # a text that begins within a word, for instance
            raise CodecError(f"LLMLingua-2 cannot read the text ({error})", found=chunk) from error
        yield from _aligned(chunk, found["fn_labeled_original_prompt"])

    def _probabilities(self, chunk: str) -> Iterator[tuple[int, int, float]]:
        """1 for a token that the classifier keeps by its own threshold, 0 for another."""
        with PACKAGES:
            import torch

        compressor = self._compressor
        encoded = compressor.tokenizer(chunk, return_tensors="pt", return_offsets_mapping=True)
        offsets = encoded.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            logits = compressor.model(
                input_ids=encoded["input_ids"].to(compressor.device),
                attention_mask=encoded["attention_mask"].to(compressor.device),
            ).logits[0]
        for (start, end), keep in zip(offsets, (logits[:, 1] > logits[:, 0]).tolist(), strict=True):
            yield start, end, float(keep)


def _mean(scores: Sequence[float], text: str, span: Span) -> float:
    found = [scores[place] for place in range(*span) if not text[place].isspace()]
    return sum(found) / len(found)


def _aligned(chunk: str, labelled: str) -> Iterator[tuple[int, int, float]]:
    """Where the library's words are in the chunk. A word that its tokenizer spells in another way is passed over."""
    text = chunk.lower() if len(chunk.lower()) == len(chunk) else chunk
    at = 0
    for entry in labelled.split(_WORD_STOP):
        word, _, label = entry.rpartition(_LABEL_STOP)
        word = word if text is chunk else word.lower()
        place = text.find(word, at, at + len(word) + _SLACK) if word else -1
        if place >= 0:
            at = place + len(word)
            yield place, at, float(label)


class _Tokenizer:
    """The model's tokenizer. The library spells special tokens as BERT does; here they get the ids of the model's own."""

    def __init__(self, tokenizer: Any, padding: int) -> None:
        self._tokenizer = tokenizer
        # the library takes padding's id 0, which is BERT's, for none, and unsets the token
        tokenizer.pad_token_id = padding
        self._own = {"[CLS]": tokenizer.cls_token, "[SEP]": tokenizer.sep_token, "[PAD]": tokenizer.pad_token}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __len__(self) -> int:
        return len(self._tokenizer)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._tokenizer(*arguments, **options)

    def convert_tokens_to_ids(self, tokens: list[str]) -> Any:
        return self._tokenizer.convert_tokens_to_ids([self._own.get(token, token) for token in tokens])

    def offsets(self, text: str) -> list[Span]:
        """Start and end of each token of a text, special tokens left out."""
        encoded = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [(start, end) for start, end in encoded["offset_mapping"]]


class _Counter:
    """Stands for the tokenizer that the library downloads to count tokens: it counts the same way as everything else here."""

    def encode(self, text: str) -> range:
        return range(count_tokens(text))


def _load(model: str, revision: str | None, local: bool) -> Any:
    """The library's compressor with this model. Its constructor is left out, because it downloads; see the module's text."""
    with PACKAGES:
        from llmlingua import PromptCompressor
        from transformers import AutoConfig
    options: dict[str, Any] = {"trust_remote_code": False, "use_safetensors": True}
    if not local:
        options["revision"] = revision
    try:
        config = AutoConfig.from_pretrained(model, **{k: v for k, v in options.items() if k != "use_safetensors"})
    except (OSError, ValueError) as error:
        if local:
            raise InputError(f"not a model folder ({str(error).splitlines()[0]})", file=model) from error
        raise MissingDependencyError(
            f"the model {model} at {revision} is not in the cache and cannot be fetched: fetch it once where there is a network "
            f"(hf download {model} --revision {revision}), or name a run of `handoff train lingua`"
        ) from error
    _check(model, config)
    compressor = PromptCompressor.__new__(PromptCompressor)
    compressor.model_name = model
    compressor.use_llmlingua2 = True
    compressor.oai_tokenizer = _Counter()
    try:
        with _quiet():
            compressor.load_model(model, "cpu", options)
    except OSError as error:
        raise InputError(f"the model cannot be loaded ({str(error).splitlines()[0]})", file=model) from error
    compressor.tokenizer = _Tokenizer(compressor.tokenizer, config.pad_token_id)
    with _quiet():
        compressor.init_llmlingua2()
    compressor.model_name = FAMILIES[config.model_type]
    compressor.model.eval()
    return compressor


def _check(model: str, config: Any) -> None:
    kind, names = config.model_type, config.architectures or ()
    if kind not in FAMILIES:
        raise InputError("LLMLingua-2 does not read such a model", file=model, field="model_type", found=kind, allowed=FAMILIES)
    if not any("ForTokenClassification" in name for name in names):
        raise InputError("not a token classifier", file=model, field="architectures", found=names)
    if config.num_labels != 2:
        raise InputError("needs one label to drop, one to keep", file=model, field="num_labels", found=config.num_labels)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Neither progress bars nor remarks about added tokens: they tell a user nothing."""
    with PACKAGES:
        from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextlib.contextmanager
def _kept_state() -> Iterator[None]:
    """What the library sets for the whole process comes back: random generators, cuDNN's switches, an environment variable."""
    with PACKAGES:
        import numpy
        import torch

    own, arrays, hashing = random.getstate(), numpy.random.get_state(), os.environ.get("PYTHONHASHSEED")
    cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(own)
        numpy.random.set_state(arrays)
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = cudnn
        if hashing is None:
            os.environ.pop("PYTHONHASHSEED", None)
        else:
            os.environ["PYTHONHASHSEED"] = hashing
