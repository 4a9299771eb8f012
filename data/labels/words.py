"""The task's own words: what a planner can write down before anything has been looked up."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_WORD = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+\.\d+|[^\W_]+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DATE = re.compile(r"\d{4}-(\d{2})-(\d{2})")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_LONG_VALUE = 2_000  # characters; nobody says this word by word

Form = tuple[frozenset[str], str]
"""Words, and the same in a row, each between spaces."""


def split_words(text: str) -> list[str]:
    """The words of a text, in lower case.

    What people write in different ways is made alike: `_`, `-` and other marks separate words, a thousands comma and an
    apostrophe are left out, `50.00` is `50`, `20th` is `20`, and a plural `s` goes (words of four letters and more): "Gift
    cards" and `gift_card` are both `gift`, `card`.
    """
    words = _WORD.findall(text.lower().replace("'", "").replace("’", ""))
    return [w[:-1] if w[-1] == "s" and len(w) > 3 and w[-2] != "s" else _number(w) if "0" <= w[0] <= "9" else w for w in words]


def _number(word: str) -> str:
    if word.isdigit():
        return word
    word = word.replace(",", "")
    if "." in word:
        return word.rstrip("0").rstrip(".")
    ordinal = _ORDINAL.fullmatch(word)
    return ordinal[1] if ordinal else word


def _form(words: list[str]) -> Form:
    return frozenset(words), f" {' '.join(words)} "


@lru_cache(maxsize=20_000)
def _forms(value: str | float) -> tuple[Form, ...]:
    """The ways in which a text may spell a value; a date also as `may 20`, `20 may`, `20 of may`, `oct 5`."""
    if not isinstance(value, str):
        return (_form(split_words(repr(abs(value)))),)
    words = split_words(value) if len(value) <= _LONG_VALUE else []
    if not words:
        return ()
    date = _DATE.fullmatch(value)
    if date is None or not 1 <= int(date[1]) <= 12:
        return (_form(words),)
    name, day = _MONTHS[int(date[1]) - 1], str(int(date[2]))
    spoken = ([month, day] for month in (name, name[:3]))
    return (_form(words), *(_form(s) for m, d in spoken for s in ([m, d], [d, m], [d, "of", m])))


class Words:
    """Texts in which the author of the task speaks. They grow while a conversation goes on."""

    def __init__(self, text: str = "") -> None:
        self._texts = {text: None}
        self._unread = [text]
        self._known: set[str] = set()
        self._rows = ""

    def add(self, text: str) -> None:
        """What the user said next."""
        if text not in self._texts:
            self._texts[text] = None
            self._unread.append(text)

    def __contains__(self, value: Any) -> bool:
        """Whether the words of a text, or the digits of a number, occur in a row in a text. False for other types."""
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            return False
        if self._unread:
            self._read()
        for words, row in _forms(value):  # noqa: SIM110 (a loop takes half the time of `any`, and this runs for every value)
            # Most values fail at the set, which costs far less than to search the text.
            if words <= self._known and (len(words) == 1 or row in self._rows):
                return True
        return False

    def _read(self) -> None:
        for text in self._unread:
            words = split_words(text)
            self._known.update(words)
            self._rows += f" {' '.join(words)} "
        self._unread.clear()
