"""Identifiers: the words of a task that must arrive verbatim (ids, emails, amounts, dates)."""

from __future__ import annotations

import re

IDENTIFIER = re.compile(
    r"""
      (?<![\w.+-])[\w.+-]++@[\w-]++\.[\w.-]*\w             # an email
    | (?<![\w.,])\d{1,3}(?:,\d{3})++(?:\.\d+)?(?!\w|[,.]\d) # a number with groups of thousands: 1,286.50
    | \#?\b(?=\w*\d)\w++(?:[-/:.](?=\w*\d)\w++)*+         # what has a digit: #W6390527, 2024-05-20, 54.04, mei_kovacs_8020
    | \b[a-z0-9]++(?:_[a-z0-9]++)++\b                      # a name in snake case: basic_economy
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Possessive repetitions never give back what they took, so no text takes exponential time. The lookbehinds let a match start only
# where a word starts: without them a long word would be read again from each letter.


def find_identifiers(text: str) -> list[str]:
    """Every identifier in a text, in order, repeats included."""
    return [match.group() for match in IDENTIFIER.finditer(text)]


def is_identifier(text: str) -> bool:
    """Is the whole text one identifier?"""
    return IDENTIFIER.fullmatch(text) is not None


def exactly(phrase: str) -> re.Pattern[str]:
    """A pattern for `phrase` verbatim, where it is no part of a longer word, number or identifier."""
    return re.compile(rf"(?<![\w#])(?<!\d[.,]){re.escape(phrase)}(?!\w)(?![.,]\d)")
