"""Near-duplicate texts. Such tasks must be in the same split, so that no test task is nearly a training task."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

ALIKE = 0.8
"""Two texts that share so much of their words (Jaccard similarity of the sets of words) are nearly the same."""
_WORD = re.compile(r"\w+")


def fingerprint(text: str) -> str:
    """A text's words, without case, spaces and punctuation: two with the same are the same text."""
    return " ".join(_WORD.findall(text.casefold()))


class NearTexts:
    """Texts that can be asked for those nearly the same as another.

    Two sets of words that are alike share one of their rarest words, so few pairs are compared: prefix filtering (Chaudhuri,
    Ganti and Kaushik 2006, "A primitive operator for similarity joins in data cleaning").
    """

    def __init__(self, texts: Sequence[str], least: float = ALIKE) -> None:
        self.least = least
        self._sets = [_words(text) for text in texts]
        self._frequency = Counter(word for words in self._sets for word in words)
        self._holders: dict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(self._sets):
            for word in self._rarest(words):
                self._holders[word].append(place)

    def of(self, text: str) -> Iterator[int]:
        """The places of the texts that are alike, each once."""
        words = _words(text)
        candidates = {place for word in self._rarest(words) for place in self._holders.get(word, ())}
        return (place for place in sorted(candidates) if self._alike(self._sets[place], words))

    def _rarest(self, words: frozenset[str]) -> list[str]:
        ranked = sorted(words, key=lambda word: (self._frequency[word], word))
        return ranked[: len(words) - math.ceil(self.least * len(words)) + 1]

    def _alike(self, first: frozenset[str], second: frozenset[str]) -> bool:
        shared = len(first & second)
        return shared >= self.least * (len(first) + len(second) - shared)


def together(texts: Sequence[str], groups: Sequence[Hashable]) -> list[list[int]]:
    """The places of the texts in parts that must not be parted: of one group, alike, or both by way of others."""
    home = list(range(len(texts)))

    def root(place: int) -> int:
        while home[place] != place:
            home[place] = place = home[home[place]]
        return place

    first = {group: place for place, group in reversed(list(enumerate(groups)))}
    near = NearTexts(texts)
    for place, (text, group) in enumerate(zip(texts, groups, strict=True)):
        for other in (first[group], *near.of(text)):
            home[root(other)] = root(place)
    parts: dict[int, list[int]] = defaultdict(list)
    for place in range(len(texts)):
        parts[root(place)].append(place)
    return list(parts.values())


def _words(text: str) -> frozenset[str]:
    return frozenset(fingerprint(text).split())
