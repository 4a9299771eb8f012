"""512 short words that cost one o200k token each: numbers in a message are written with them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def code_words() -> tuple[str, ...]:
    """The words in order: the first runs of two or three small letters that are one o200k token, with and without a space."""
    return tuple(files("graph_handoff").joinpath("code_words.txt").read_text(encoding="utf-8").split())


@cache
def code_numbers() -> dict[str, int]:
    """Word -> its place in `code_words`."""
    return {word: number for number, word in enumerate(code_words())}
