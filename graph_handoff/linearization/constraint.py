"""What a model writes, token by token, and which token may come next: the part that graph and prose share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph_handoff.errors import CodecError
from graph_handoff.scalar import Scalar

END_TOKEN = 0
"""Pads, starts the decoder, and ends a plan."""


@dataclass(frozen=True)
class Encoded:
    """A plan as the model sees it."""

    tokens: tuple[int, ...]
    """What the decoder writes, END_TOKEN last."""
    values: tuple[Scalar, ...]
    """What the message carries verbatim, in order."""


class DecodingConstraint(ABC):
    """Which token may come next, at a place in what is being written."""

    @abstractmethod
    def allows(self, token: int) -> bool:
        """May this token come next?"""

    @abstractmethod
    def advance(self, token: int) -> None:
        """Move past one token that may come next."""

    def move(self, token: int) -> None:
        """Move past one token. Raises CodecError where it may not come next."""
        if not self.allows(token):
            raise CodecError("a token that is not allowed here", found=token)
        if token != END_TOKEN:
            self.advance(token)

    def allowed(self, ranked: Sequence[int]) -> Iterator[int]:
        """The tokens of `ranked` that may come next, in that order."""
        return (token for token in ranked if self.allows(token))
