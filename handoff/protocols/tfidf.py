"""TF-IDF: the top-weighted words of the prose plan, in their order. No model; one small table of document frequencies."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import orjson

from handoff.delegation import Delegation, Toolset
from handoff.errors import ConfigError, InputError
from handoff.files import sha256_json
from handoff.identifiers import is_identifier
from handoff.protocols.base import Reading
from handoff.protocols.prose import Prose
from handoff.protocols.reader import read_text

_PIECE = re.compile(r"[^\s\"`“”()\[\]{}<>]+")
_OUTER = ".,;:!?'*"
_WORD = re.compile(r"\w[\w’'-]*")


def words(text: str) -> list[str]:
    """The words of a text in order; an identifier (an email, `#W6390527`, 54.04) is one word and keeps its spelling."""
    found: list[str] = []
    for match in _PIECE.finditer(text):
        piece = match.group().strip(_OUTER)
        found += [piece] if is_identifier(piece) else _WORD.findall(piece)
    return found


def term(word: str) -> str:
    """What the table counts: an identifier as it is, any other word in small letters."""
    return word if is_identifier(word) else word.lower()


def fit(texts: Iterable[str]) -> dict[str, Any]:
    """The table of a collection: `{documents, idf: {term: weight}, hash}`.

    idf(t) = ln((1 + n) / (1 + df(t))) + 1, where n counts the texts and df those that hold t: the smooth form that
    scikit-learn documents for TfidfTransformer (user guide, "Tf-idf term weighting").
    """
    count = 0
    frequency: Counter[str] = Counter()
    for text in texts:
        count += 1
        frequency.update({term(word) for word in words(text)})
    idf = {name: _smooth(count, frequency[name]) for name in sorted(frequency)}
    return {"documents": count, "idf": idf, "hash": sha256_json([count, idf])}


def _smooth(documents: int, frequency: int) -> float:
    return math.log((1 + documents) / (1 + frequency)) + 1


def load_table(path: Path) -> dict[str, Any]:
    """Read a table. Raises InputError where the file is none, or was changed after it was written."""
    try:
        table = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}; `handoff corpus` writes it", file=path) from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({error})", file=path) from error
    if not isinstance(table, dict) or set(table) != {"documents", "idf", "hash"}:
        raise InputError("not an idf table", file=path, found=table, allowed="documents, idf, hash")
    if table["hash"] != sha256_json([table["documents"], table["idf"]]):
        raise InputError("the table does not match its hash: write it again with `handoff corpus`", file=path, field="hash")
    return table


class TfIdf:
    """Keywords of the prose plan.

    Each occurrence of a word weighs its idf: tf is taken as 0 or 1 (scikit-learn's `binary`), because with counts `the`
    outweighs every identifier of a long plan. The share `keep` of all occurrences stays: those of the greatest weight, and
    among equals the first.
    """

    name: ClassVar[str] = "tfidf"

    def __init__(self, table: str | Path | None = None, keep: float = 0.5) -> None:
        """Raises ConfigError without a table or with a share outside of (0, 1], InputError where the table cannot be used."""
        if table is None:
            raise ConfigError("tfidf needs an idf table: run `handoff corpus` and name the table it wrote", field="table")
        if not 0 < keep <= 1:
            raise ConfigError("a share of the words", field="keep", found=keep, allowed="above 0, up to 1")
        loaded = load_table(Path(table))
        self.keep = keep
        self._idf: dict[str, float] = loaded["idf"]
        self._unseen = _smooth(loaded["documents"], 0)
        self._prose = Prose()

    def instructions(self, tools: Toolset) -> str:
        return "Keywords of a plan, in order."

    def encode(self, delegation: Delegation, seed: int) -> str:
        """The keywords, separated by spaces. `seed` chooses the phrasing of the prose."""
        return " ".join(self.keywords(self._prose.encode(delegation, seed)))

    def keywords(self, text: str) -> list[str]:
        """The words of a text that stay."""
        found = words(text)
        weights = [self._idf.get(term(word), self._unseen) for word in found]
        ranked = sorted(range(len(found)), key=lambda place: (-weights[place], place))
        return [found[place] for place in sorted(ranked[: math.ceil(self.keep * len(found))])]

    def decode(self, text: str, tools: Toolset) -> Reading:
        return Reading(text, read_text(text, tools))
