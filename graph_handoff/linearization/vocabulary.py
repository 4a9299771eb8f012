"""What the model's tokens stand for: words of the linearization, runs of such words, and features of values.

Built from the training split alone. Words are tool names, keys and a few scalars; what may become one is narrow, because a
word can be generated and a value must not be: see `scalar_words`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from graph_handoff.delegation import Toolset
from graph_handoff.errors import InputError
from graph_handoff.linearization.constraint import END_TOKEN
from graph_handoff.linearization.grammar import LINE, MARKS
from graph_handoff.linearization.lines import PlanLine
from graph_handoff.linearization.memory import NEW
from graph_handoff.linearization.writer import census, key_word, name_word
from graph_handoff.plan import Plan
from graph_handoff.scalar import Scalar, dumps

MAX_PHRASE = 24
MAX_SHAPE = 24
_RUN = re.compile(r"\d+|[^\W\d_]+|\s+|_|.", re.DOTALL)

Phrase = tuple[str, ...]


@dataclass(frozen=True)
class Vocabulary:
    """Ids: END_TOKEN, then the phrases, then the shapes, then the known values."""

    phrases: tuple[Phrase, ...]
    """Runs of words that are one token; every word alone is among them."""
    shapes: tuple[str, ...]
    """Shapes of values (see `shape`)."""
    values: tuple[str, ...]
    """Values frequent in training, as lower-case text: the receiver has them before it decodes: they make their key likely."""

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word that the model can write, the marks left out."""
        return frozenset(phrase[0] for phrase in self.phrases if len(phrase) == 1) - frozenset(MARKS)

    @cached_property
    def size(self) -> int:
        """Number of ids."""
        return 2 + len(self.phrases) + len(self.shapes) + len(self.values)

    @property
    def unknown(self) -> int:
        """The id of a shape that training did not see."""
        return self.size - 1

    @property
    def output_size(self) -> int:
        """Ids below this can be generated: END_TOKEN and the phrases."""
        return 1 + len(self.phrases)

    @cached_property
    def _phrase_ids(self) -> dict[Phrase, int]:
        return {phrase: number for number, phrase in enumerate(self.phrases, 1)}

    @cached_property
    def _feature_ids(self) -> tuple[dict[str, int], dict[str, int]]:
        first = self.output_size
        shapes = {text: number for number, text in enumerate(self.shapes, first)}
        return shapes, {text: number for number, text in enumerate(self.values, first + len(shapes))}

    def encode(self, words: Sequence[str]) -> list[int]:
        """Ids of a line's words, the closing <line> included by the caller. The longest phrase that fits is taken.

        Raises KeyError for a word that the vocabulary does not have.
        """
        ids, at = [], 0
        while at < len(words):
            for length in range(min(MAX_PHRASE, len(words) - at), 0, -1):
                found = self._phrase_ids.get(tuple(words[at : at + length]))
                if found is not None:
                    ids.append(found)
                    at += length
                    break
            else:
                raise KeyError(words[at])
        return ids

    def phrase(self, token: int) -> Phrase:
        """The words of a token that can be generated."""
        return self.phrases[token - 1]

    def features(self, value: Scalar) -> tuple[int, int]:
        """What the receiver knows of a value before it decodes: the ids of its shape and of itself, END_TOKEN where unknown."""
        shapes, values = self._feature_ids
        return shapes.get(shape(value), END_TOKEN), values.get(_text(value), END_TOKEN)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"phrases": [list(p) for p in self.phrases], "shapes": list(self.shapes), "values": list(self.values)}

    @classmethod
    def from_json(cls, value: Any) -> Vocabulary:
        """Raises InputError."""
        try:
            return cls(tuple(tuple(p) for p in value["phrases"]), tuple(value["shapes"]), tuple(value["values"]))
        except (TypeError, KeyError) as error:
            raise InputError("not a vocabulary: phrases, shapes and values are needed", found=value) from error


def shape(value: Scalar) -> str:
    """The form of a value: `#A9x7` for `#W2378156`, `Aa` for `Mei`, `9x5` for `28236`, `number` for 3.5."""
    if not isinstance(value, str):
        return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else "constant"
    return "".join(map(_run_shape, _RUN.findall(value)))[:MAX_SHAPE]


def _run_shape(run: str) -> str:
    if run[0].isdecimal():
        return f"9x{min(len(run), 12)}"
    if run[0].isalpha():
        return "a" if run[0].islower() else "A" if len(run) == 1 else "Aa"
    return " " if run[0].isspace() else run


def _text(value: Scalar) -> str:
    return value.lower() if isinstance(value, str) else dumps(value)


def build_vocabulary(
    plans: Sequence[tuple[Plan, Toolset]], *, min_plans: int, min_share: float, max_categories: int
) -> Vocabulary:
    """Words and features of the training plans; phrases are single words so far (see `add_phrases`).

    A name or key becomes a word if a toolset has it or `min_plans` plans do; a key with a digit only if a toolset has it.
    """
    seen: Counter[tuple[str, str, Scalar]] = Counter()
    schema_words: set[str] = set()
    for plan, tools in plans:
        seen.update(set(census(plan, tools)))
        for tool in tools.values():
            schema_words |= {name_word(tool.name), *map(key_word, _properties(tool.parameters))}
    counts: Counter[str] = Counter()
    values: Counter[Scalar] = Counter()
    for (word, role, value), number in seen.items():
        if role in ("<name>", "<key>"):
            counts[word] += number
        else:
            values[value] += number
    structure = {w for w, n in counts.items() if n >= min_plans and (w[0] == "@" or not re.search(r"\d", w))} | schema_words
    scalars = scalar_words(seen, max(2, round(min_share * len(plans))), max_categories)
    known = sorted(structure) + sorted(scalars)
    return with_features((*MARKS, *known), values, min_plans)


def with_features(words: Sequence[str], values: Counter[Scalar], min_plans: int) -> Vocabulary:
    """A vocabulary of single words, with the shapes and the frequent ones of the values (value -> plans that have it)."""
    shapes = Counter(shape(value) for value in values.elements())
    texts = Counter(_text(value) for value in values.elements() if not re.search(r"[\d@]", str(value)))
    return Vocabulary(
        tuple((word,) for word in words),
        tuple(sorted(text for text, number in shapes.items() if number >= 2)),
        tuple(sorted(text for text, number in texts.items() if number >= min_plans and len(text) <= 40)),
    )


def _properties(schema: Any) -> Iterable[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("properties"), Mapping):
            yield from schema["properties"]
        for value in schema.values():
            yield from _properties(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _properties(value)


def scalar_words(seen: Mapping[tuple[str, str, Scalar], int], min_plans: int, max_categories: int) -> set[str]:
    """Scalars that are part of the vocabulary: the values of roles that work like an enumeration.

    Such a role has at most `max_categories` different values in training, and the value occurs in `min_plans` plans. A text
    with a digit or an @ is an identifier and never a word; of numbers, only those of one digit.
    """
    by_role: dict[str, dict[str, tuple[Scalar, int]]] = {}
    for (word, role, value), number in seen.items():
        if role not in ("<name>", "<key>"):
            by_role.setdefault(role, {})[word] = (value, number)
    return {
        word
        for found in by_role.values()
        if len(found) <= max_categories
        for word, (value, number) in found.items()
        if number >= min_plans and _may_be_word(value)
    }


def _may_be_word(value: Scalar) -> bool:
    if isinstance(value, str):
        return len(value) <= 40 and not re.search(r"[\d@]", value)
    return value is None or isinstance(value, bool) or (isinstance(value, int) and 0 <= value <= 9)


def add_phrases(
    vocabulary: Vocabulary, lines: Iterable[PlanLine], merges: int, ends: Collection[str] = (NEW, LINE)
) -> Vocabulary:
    """Join the most frequent pair of neighbours into a phrase, up to `merges` times (byte-pair encoding over words).

    A phrase ends at a word of `ends`: at a <new> slot, so that each token takes one value at most.
    """
    chunks = _Chunks(chunk for line in lines for chunk in _cut(line, ends))
    phrases = list(vocabulary.phrases)
    for _ in range(merges):
        pair = chunks.best()
        if pair is None:
            break
        phrases.append(pair[0] + pair[1])
        chunks.join(pair)
    return Vocabulary(tuple(dict.fromkeys(phrases)), vocabulary.shapes, vocabulary.values)


def _cut(line: PlanLine, ends: Collection[str]) -> Iterable[tuple[Phrase, ...]]:
    chunk: list[Phrase] = []
    for word in (*line.words, LINE):
        chunk.append((word,))
        if word in ends:
            yield tuple(chunk)
            chunk = []


class _Chunks:
    """Different runs of phrases with their number, and the pairs of neighbours in them."""

    def __init__(self, chunks: Iterable[tuple[Phrase, ...]]) -> None:
        self.counts = Counter(chunks)
        self.pairs: Counter[tuple[Phrase, Phrase]] = Counter()
        self.where: dict[tuple[Phrase, Phrase], set[tuple[Phrase, ...]]] = {}
        for chunk, number in self.counts.items():
            self._count(chunk, number)

    def _count(self, chunk: tuple[Phrase, ...], number: int) -> None:
        for pair in pairwise(chunk):
            self.pairs[pair] += number
            self.where.setdefault(pair, set()).add(chunk)

    def best(self) -> tuple[Phrase, Phrase] | None:
        """The most frequent pair that makes no phrase too long; None where none occurs twice."""
        fitting = (pair for pair, number in self.pairs.items() if number > 1 and len(pair[0] + pair[1]) <= MAX_PHRASE)
        return max(fitting, key=lambda pair: (self.pairs[pair], pair), default=None)

    def join(self, pair: tuple[Phrase, Phrase]) -> None:
        for chunk in self.where.pop(pair):
            number = self.counts.pop(chunk, 0)
            self._count_out(chunk, number)
            joined: list[Phrase] = []
            for phrase in chunk:
                if joined and (joined[-1], phrase) == pair:
                    joined[-1] = joined[-1] + phrase
                else:
                    joined.append(phrase)
            self.counts[tuple(joined)] += number
            self._count(tuple(joined), number)

    def _count_out(self, chunk: tuple[Phrase, ...], number: int) -> None:
        for pair in pairwise(chunk):
            self.pairs[pair] -= number
            if self.pairs[pair] <= 0:
                del self.pairs[pair]
            self.where.get(pair, set()).discard(chunk)
