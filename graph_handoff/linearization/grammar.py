"""Which words can follow: the grammar of a line (see `skeleton`) as a pushdown automaton, for constrained decoding.

A state is a stack of symbols, the next one last. A rule maps the kind of a word to the symbols that replace the top one; a
symbol with an empty rule may also be left out. The automaton knows the form of a line, not what it points at: that a tool has
so many arguments, that an earlier step exists, is checked when the line is read.
"""

from __future__ import annotations

from graph_handoff.linearization.writer import BACK, END, LINE, NEW, SAME, SLOT

State = tuple[str, ...]
START: State = ("line",)
_KINDS = {NEW: "slot"} | dict.fromkeys(SAME, "slot") | dict.fromkeys(SLOT, "slot") | dict.fromkeys(BACK, "<back>")
_PREFIXES = {"@": "name", ".": "key", "=": "scalar"}

_SCALAR = {"slot": "", "scalar": ""}
_VALUE = {**_SCALAR, "<depends_on>": "path target", "<list>": "items", "<object>": "fields"}
_RULES: dict[str, dict[str, str]] = {
    "line": {
        **{"<goal>": "close scalar", "<constraint>": "close scalar", "<tool_call>": "parts name", "<action>": "parts name"},
    },
    "close": {LINE: ""},
    "name": {"name": "", "slot": ""},
    "scalar": _SCALAR,
    "parts": {
        LINE: "",
        **{kind: f"parts {symbols}" for kind, symbols in _VALUE.items()},
        **{"<tool_arg>": "parts value akey", "<precondition>": "parts scalar path target"},
        **{"<postcondition>": "parts scalar path", "<follows>": "parts target"},
    },
    "value": _VALUE,
    "items": {END: "", **{kind: f"items {symbols}" for kind, symbols in _VALUE.items()}},
    "fields": {END: "", "<field>": "fields value akey"},
    "akey": {"key": "", "<key>": "slot"},
    "slot": {"slot": ""},
    "target": {"name": "", "slot": "", "<back>": "name", "<step>": "scalar"},
    "path": {"key": "path", "<key>": "path slot", "<index>": "path scalar", "<select>": "path conditions", "": ""},
    "conditions": {END: "", "key": "more", "<key>": "more slot"},
    "more": {"key": "more", "<key>": "more slot", "slot": "conditions", "scalar": "conditions"},
}
"""Symbol -> kind of word -> what then stands on the stack (the last is read first). "" as a kind: the symbol may be left out."""


def kind_of(word: str) -> str:
    """The kind of a word: itself, or what it stands for."""
    return _KINDS.get(word) or _PREFIXES.get(word[:1], word)


def step(state: State, word: str) -> State | None:
    """The state after a word, or None where the word cannot stand here. The empty state accepts nothing more."""
    kind, depth = kind_of(word), taker(state, word)
    return None if depth is None else (*state[:depth], *_RULES[state[depth]][kind].split())


def taker(state: State, word: str) -> int | None:
    """The place in the stack of the symbol that takes the word, those above it being left out; None where none does."""
    kind = kind_of(word)
    for depth in range(len(state) - 1, -1, -1):
        rule = _RULES[state[depth]]
        if kind in rule:
            return depth
        if "" not in rule:
            return None
    return None


def run(state: State, words: tuple[str, ...]) -> State | None:
    """The state after several words, or None."""
    for word in words:
        after = step(state, word)
        if after is None:
            return None
        state = after
    return state
