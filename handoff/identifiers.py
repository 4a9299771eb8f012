"""Identifiers: the words of a task that must arrive letter by letter (ids, emails, amounts, dates)."""

from __future__ import annotations

import re

_IDENTIFIER = re.compile(
    r"""
      [\w.+-]+@[\w-]+\.[\w.-]*\w        # email
    | \#?\b\w*\d[\w]*(?:[-/:.]\w*\d\w*)*  # anything with a digit: W6390527, 2024-05-20, 28236, 54.04, gift_card_123
    | \b[a-z0-9]+(?:_[a-z0-9]+)+\b      # snake_case names
    """,
    re.VERBOSE | re.IGNORECASE,
)


def find_identifiers(text: str) -> list[str]:
    """Every identifier in a text, in order, repeats included."""
    return [match.group() for match in _IDENTIFIER.finditer(text)]


def is_identifier(text: str) -> bool:
    """Is the whole text one identifier?"""
    return _IDENTIFIER.fullmatch(text) is not None
