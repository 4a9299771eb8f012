"""512 words that cost one o200k token each: the alphabet of T5's corrections, and of delta's versions and check sums."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def code_words() -> tuple[str, ...]:
    """The words: the first runs of two or three small letters that are one o200k token with and without a space before."""
    return tuple(files("graph_handoff.linearization").joinpath("code_words.txt").read_text(encoding="utf-8").split())


@cache
def code_numbers() -> Mapping[str, int]:
    """Word -> its place among them."""
    return {word: number for number, word in enumerate(code_words())}
