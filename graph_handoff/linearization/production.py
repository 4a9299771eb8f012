"""What an entry of the grammar's table is: a form, which reads like a rule in BNF, and what it means for Python values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple


class Item(NamedTuple):
    """One symbol or mark in the form of a production."""

    symbol: str
    repeat: str
    """`*`, `+` or nothing."""
    is_mark: bool
    """A word that stands for itself."""
    role: str | None
    """The role itself, where the form names a mark as the role."""
    source: int | None
    """The component that gives the role (from 0). Where both are None, the role is passed on."""

    @property
    def name(self) -> str:
        """The symbol, with its repetition."""
        return self.symbol + self.repeat


_ITEM = re.compile(r"(?P<symbol><\w+>|[\w@.=]+)(?P<repeat>[*+]?)(?:\((?P<role>[\w<>]+)\))?")


@dataclass(frozen=True)
class Production:
    """One way to write a symbol. A value has one component for each symbol of the form; for a repeated one a sequence of them.

    Unless `take` and `make` say otherwise, the components of a dataclass are its fields, those of a tuple its members, and any
    other value is its own only component.
    """

    form: str
    shape: type = object
    """Values of this type are written so."""
    sign: str = ""
    """The mark in the text form."""
    take: Callable[[Any], Sequence[Any]] | None = None
    """Value -> components."""
    make: Callable[..., Any] | None = None
    """The inverse. Raises CodecError where the components do not fit."""

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The form, taken apart."""
        found: list[Item] = []
        for text in self.form.split():
            match = _ITEM.fullmatch(text)
            assert match, self.form
            symbol, repeat, role = match.groups()
            components = [item.symbol for item in found if not item.is_mark]
            source = components.index(role) if role in components else None
            found.append(Item(symbol, repeat, symbol[0] == "<", role if source is None else None, source))
        return tuple(found)

    @cached_property
    def components(self) -> Callable[[Any], Sequence[Any]]:
        """`take`, or the default."""
        if self.take is not None:
            return self.take
        if issubclass(self.shape, tuple):
            return _itself
        if not is_dataclass(self.shape):
            return _one
        names = [field.name for field in fields(self.shape)]
        get = attrgetter(*names)
        return get if len(names) > 1 else lambda value: (get(value),)

    @cached_property
    def result(self) -> Callable[..., Any]:
        """`make`, or the default."""
        if self.make is not None:
            return self.make
        if self.shape is tuple:
            return _together
        return self.shape if is_dataclass(self.shape) or issubclass(self.shape, (tuple, list, dict)) else _itself

    @cached_property
    def passes_on(self) -> str | None:
        """The symbol that this production only renames, if it does."""
        plain = self.components is _one and self.result is _itself and len(self.items) == 1
        return self.items[0].symbol if plain and not self.items[0].repeat else None


def _one(value: Any) -> tuple[Any]:
    return (value,)


def _itself(value: Any) -> Any:
    return value


def _together(*components: Any) -> tuple[Any, ...]:
    return components


def role_of(component: str | tuple[Any, ...]) -> str:
    """The role that a component gives: a key or name itself; of several keys, or of a path, the last key."""
    if isinstance(component, str):
        return component
    return next((step for step in reversed(component) if isinstance(step, str)), "")
