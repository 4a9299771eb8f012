"""Which words can follow: the grammar of a line as a pushdown automaton, for constrained decoding and for taking lines apart.

A state is a stack of symbols of `GRAMMAR`, the next one last; one that may be empty may also be left out. The automaton knows
the form of a line, not what it points at: that a tool has so many arguments, that an earlier step exists, is checked when the
line is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from graph_handoff.linearization.grammar import GRAMMAR, kind_of
from graph_handoff.linearization.production import Item

State = tuple[str, ...]
START: State = ("line",)
EMPTY = "<empty>"
CACHED = 1 << 16


@cache
def moves(symbol: str) -> Mapping[str, State]:
    """For each kind of word that can begin a symbol, what then remains of it (the last is read first); under EMPTY, nothing, if
    it may be left out."""
    base, repeat = (symbol[:-1], symbol[-1]) if symbol[-1] in "*+" else (symbol, "")
    if repeat:
        found = {kind: (f"{base}*", *rest) for kind, rest in moves(base).items()}
        return found | {EMPTY: ()} if repeat == "*" else found
    if base not in GRAMMAR:
        return {base: ()}
    return {kind: rest for production in GRAMMAR[base] for kind, rest in first_moves(production.items).items()}


def first_moves(items: Sequence[Item]) -> Mapping[str, State]:
    """`moves` for the form of a production."""
    found: dict[str, State] = {}
    for number, item in enumerate(items):
        later = tuple(after.name for after in reversed(items[number + 1 :]))
        own = moves(item.name)
        found |= {kind: (*later, *rest) for kind, rest in own.items() if kind != EMPTY}
        if EMPTY not in own:
            return found
    return found | {EMPTY: ()}


@lru_cache(CACHED)
def _move(state: State, kind: str) -> tuple[int, State] | None:
    for depth in range(len(state) - 1, -1, -1):
        known = moves(state[depth])
        if kind in known:
            return depth, (*state[:depth], *known[kind])
        if EMPTY not in known:
            return None
    return None


def step(state: State, word: str) -> State | None:
    """The state after a word, or None where the word cannot come next. The empty state accepts nothing more."""
    found = _move(state, kind_of(word))
    return found and found[1]


def run(state: State, words: Sequence[str]) -> State | None:
    """The state after several words, or None."""
    for word in words:
        found = _move(state, kind_of(word))
        if found is None:
            return None
        state = found[1]
    return state


def starts(words: Sequence[str], state: State, repeated: str) -> Iterator[int]:
    """Where in the words each of the symbols that are repeated outermost begins (`part*` in a line); ends where the words do not
    follow the grammar."""
    for at, word in enumerate(words):
        found = _move(state, kind_of(word))
        if found is None:
            return
        depth, after = found
        if state[depth] == repeated and state.index(repeated) == depth:
            yield at
        state = after
