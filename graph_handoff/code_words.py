"""Short words that cost one o200k token each: numbers in a message are written with them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def short_words() -> tuple[str, ...]:
    """The 3,075 runs of two or three lower-case letters that are one o200k token, with and without a space before them: the
    shorter first, then in alphabetical order."""
    return tuple(files("graph_handoff").joinpath("code_words.txt").read_text(encoding="utf-8").split())


@cache
def code_words() -> tuple[str, ...]:
    """The first 512 of them, for numbers of nine bits."""
    return short_words()[:512]


@cache
def code_numbers() -> dict[str, int]:
    """Word -> its place in `code_words`."""
    return {word: number for number, word in enumerate(code_words())}
