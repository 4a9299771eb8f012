"""Rank corrections: what a message must add to a model so that it writes the right tokens, one o200k token each.

The receiver's model writes a plan token by token. Wherever its best choice would be wrong, the message holds a correction: how
many choices before it are right, and the rank of the right one. The last word is a check sum, so that a receiver with another
model gets an error instead of another plan.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from graph_handoff.code_words import code_numbers, code_words
from graph_handoff.errors import CodecError

SKIPS = 32
BASE = 256
"""A correction is the number `rank * 32 + skip`, in digits to base 256, the lowest first; words 256 to 511 say that more
follow."""


class RankCorrection(NamedTuple):
    """At `place` (in tokens, from 0) the choice of `rank` is right; rank 0 is the model's own first choice."""

    place: int
    rank: int


def write_corrections(corrections: Iterable[RankCorrection], tokens: Sequence[int]) -> str:
    """The words of corrections, in the order of their places, and the check sum of the tokens that the receiver will have
    written."""
    numbers: list[int] = []
    at = 0
    for place, rank in corrections:
        while place - at >= SKIPS:  # too far for one correction: one of rank 0, which changes nothing, on the way
            numbers.append(SKIPS - 1)
            at += SKIPS
        value = rank * SKIPS + place - at
        while value >= BASE:
            numbers.append(BASE + value % BASE)
            value //= BASE
        numbers.append(value)
        at = place + 1
    words = code_words()
    return " ".join(words[number] for number in [*numbers, check_sum(tokens)])


def read_corrections(text: str) -> tuple[list[RankCorrection], int]:
    """The corrections and the check sum of a text that `write_corrections` wrote. Raises CodecError."""
    known = code_numbers()
    words = text.split(" ")
    unknown = [word for word in words if word not in known]
    if unknown:
        raise CodecError("not a code word", found=unknown[0])
    *numbers, check = (known[word] for word in words)
    corrections: list[RankCorrection] = []
    at, value, scale = 0, 0, 1
    for number in numbers:
        value += number % BASE * scale
        scale *= BASE
        if number < BASE:
            rank, skip = divmod(value, SKIPS)
            corrections.append(RankCorrection(at + skip, rank))
            at, value, scale = at + skip + 1, 0, 1
    if scale != 1:
        raise CodecError("a correction does not end", found=text)
    return corrections, check


def check_sum(tokens: Sequence[int]) -> int:
    """A number below 512 that depends on every token."""
    return zlib.crc32(" ".join(map(str, tokens)).encode()) % (2 * BASE)
