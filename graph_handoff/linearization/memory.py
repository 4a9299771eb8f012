"""What the lines so far have named. Sender and receiver keep it alike, so that a line can point back.

A value that has occurred is written as a slot of its rank: `<sameN>` for the value used Nth to last in this role (the argument
or key that it belongs to), `<slotN>` for the one used Nth to last in any role. A step is named by its tool: the call of it that
was made or used last, or with `<backN>` an earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from graph_handoff.errors import CodecError
from graph_handoff.plan import step_id
from graph_handoff.scalar import Scalar, dumps

NEW = "<new>"
SAME = tuple(f"<same{rank}>" for rank in range(16))
SLOT = tuple(f"<slot{rank}>" for rank in range(32))
BACK = tuple(f"<back{count}>" for count in range(1, 17))


class Recent(NamedTuple):
    """The step of that name which was made or used last."""

    name: str


class Earlier(NamedTuple):
    """The step of that name which was made or used so many (from 1) before the last one."""

    back: int
    name: str


class Numbered(NamedTuple):
    """The step at a place, from 1."""

    place: Scalar


Pointer = Recent | Earlier | Numbered
"""How a line names an earlier step."""


@dataclass
class Memory:
    """The steps and values of the lines so far."""

    names: list[str] = field(default_factory=list)
    """Names of the steps."""
    calls: dict[str, list[int]] = field(default_factory=dict)
    """Name -> places of its steps, the last made or used first."""
    by_role: dict[str, list[str]] = field(default_factory=dict)
    """Role -> keys of the values used in it, the last used first."""
    used: list[str] = field(default_factory=list)
    """Keys of all values, the last used first."""
    values: dict[str, Scalar] = field(default_factory=dict)

    def copy(self) -> Memory:
        """One that can be changed apart."""
        calls = {name: list(places) for name, places in self.calls.items()}
        by_role = {role: list(keys) for role, keys in self.by_role.items()}
        return Memory(list(self.names), calls, by_role, list(self.used), dict(self.values))

    def add_step(self, name: str) -> None:
        """Remember that a step was made."""
        self.calls.setdefault(name, []).insert(0, len(self.names))
        self.names.append(name)

    def point_at(self, node: str) -> Pointer:
        """How to name a step; it counts as used. Raises CodecError where the id is no earlier step's."""
        place = int(node[1:]) - 1 if node[1:].isdecimal() else -1
        if not 0 <= place < len(self.names) or node != step_id(place):
            raise CodecError("a reference names no earlier step", found=node)
        name = self.names[place]
        back = self.calls[name].index(place)
        self._use_step(place)
        if back > len(BACK):
            return Numbered(place + 1)
        return Earlier(back, name) if back else Recent(name)

    def resolve(self, pointer: Pointer) -> str:
        """The inverse of `point_at`: the id of the step. Raises CodecError where there is none."""
        if isinstance(pointer, Numbered):
            number = pointer.place
            if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= len(self.names):
                raise CodecError("a reference names no earlier step", found=number)
            place = number - 1
        else:
            back = pointer.back if isinstance(pointer, Earlier) else 0
            places = self.calls.get(pointer.name, [])
            if back >= len(places):
                raise CodecError("a reference names no earlier step", found=pointer.name)
            place = places[back]
        self._use_step(place)
        return step_id(place)

    def _use_step(self, place: int) -> None:
        order = self.calls[self.names[place]]
        order.remove(place)
        order.insert(0, place)

    def use(self, value: Scalar, role: str) -> None:
        """Remember that a value was used in a role."""
        key = dumps(value)
        self.values[key] = value
        for order in (self.by_role.setdefault(role, []), self.used):
            if key in order:
                order.remove(key)
            order.insert(0, key)

    def word(self, value: Scalar, role: str) -> str:
        """The slot word for a value: <sameN>, <slotN> or <new>."""
        key = dumps(value)
        for order, marks in ((self.by_role.get(role, []), SAME), (self.used, SLOT)):
            if key in order[: len(marks)]:
                return marks[order.index(key)]
        return NEW

    def value(self, word: str, role: str) -> Scalar:
        """What <sameN> or <slotN> stands for. Raises CodecError."""
        order, marks = (self.by_role.get(role, []), SAME) if word in SAME else (self.used, SLOT)
        rank = marks.index(word)
        if rank >= len(order):
            raise CodecError(f"{word} points at no earlier value", found=role)
        return self.values[order[rank]]
