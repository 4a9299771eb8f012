"""Edit scripts between two sequences: keep, delete, insert, replace. The script of least cost, and its application."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from graph_handoff.errors import CodecError

T = TypeVar("T")
EditKind = Literal["-", "=", "+"]


@dataclass(frozen=True)
class Edit(Generic[T]):
    """One change of a sequence. Places count from 1; what no edit names is kept."""

    at: int
    """The item deleted or replaced, or the one after which to insert (0: before the first)."""
    kind: EditKind
    """`-` delete, `=` replace, `+` insert."""
    item: T | None = None
    """What is there afterwards; None for a deletion."""


@dataclass(frozen=True)
class Costs(Generic[T]):
    """What each edit costs; to keep an item costs nothing."""

    delete: float
    insert: Callable[[T], float]
    replace: Callable[[int, T], float]
    """Takes the place of the old item, from 1, and the new one."""


def diff(old: Sequence[T], new: Sequence[T], costs: Costs[T]) -> list[Edit[T]]:
    """The cheapest script that turns `old` into `new` (dynamic programming: Wagner and Fischer, 1974)."""
    table = _table(old, new, costs)
    edits: list[Edit[T]] = []
    i, j = len(old), len(new)
    while i or j:
        kind = table[i][j][1]
        if kind == "+":
            edits.append(Edit(i, "+", new[j - 1]))
        elif kind == "-":
            edits.append(Edit(i, "-"))
        elif kind == "=":
            edits.append(Edit(i, "=", new[j - 1]))
        i, j = i - (kind != "+"), j - (kind != "-")
    return edits[::-1]


def distance(old: Sequence[T], new: Sequence[T], costs: Costs[T]) -> float:
    """The cost of `diff(old, new, costs)`."""
    return _table(old, new, costs)[-1][-1][0]


def _table(old: Sequence[T], new: Sequence[T], costs: Costs[T]) -> list[list[tuple[float, str]]]:
    """For the first i and j items: the cost of the cheapest script, and its last move (`k` keeps)."""
    table: list[list[tuple[float, str]]] = [[(0.0, "")]]
    for item in new:
        table[0].append((table[0][-1][0] + costs.insert(item), "+"))
    for i, before in enumerate(old, 1):
        row: list[tuple[float, str]] = [(table[-1][0][0] + costs.delete, "-")]
        for j, after in enumerate(new, 1):
            both = table[-1][j - 1][0]
            moves = [(table[-1][j][0] + costs.delete, "-"), (row[-1][0] + costs.insert(after), "+")]
            moves.append((both, "k") if before == after else (both + costs.replace(i, after), "="))
            row.append(min(moves, key=lambda move: move[0]))
        table.append(row)
    return table


def patch(old: Sequence[T], edits: Iterable[Edit[T]]) -> list[T]:
    """Apply a script. Raises CodecError where its places lie outside, or run backwards."""
    new: list[T] = []
    done = 0
    for edit in edits:
        inserts = edit.kind == "+"
        if not (done if inserts else done + 1) <= edit.at <= len(old):
            raise CodecError(
                "an edit names no place that is left", found=f"{edit.at}{edit.kind}", allowed=f"{done} to {len(old)}"
            )
        new += old[done : edit.at if inserts else edit.at - 1]
        done = edit.at
        if edit.item is not None:
            new.append(edit.item)
    return [*new, *old[done:]]
