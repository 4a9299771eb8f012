"""A plan as lines of words: its structure in words of a small vocabulary, every other value lifted out, verbatim.

What a line looks like is the table in `grammar`. `_symbol` and `_production` turn the table into functions that go from a value
to its words; the methods of `_Writer` are the symbols whose words depend on more than the value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from graph_handoff.codec.line import ACTIONS
from graph_handoff.delegation import Toolset
from graph_handoff.linearization.grammar import GRAMMAR
from graph_handoff.linearization.lines import Entry, PlanLine, entries, take_apart
from graph_handoff.linearization.memory import BACK, NEW, Memory
from graph_handoff.linearization.production import Production, role_of
from graph_handoff.plan import Plan, Step
from graph_handoff.scalar import Scalar, dumps


def name_word(name: str) -> str:
    """The word of a tool or action."""
    return f"@{name}"


def key_word(key: str) -> str:
    """The word of a key or argument name."""
    return f".{key}"


def scalar_word(value: Scalar) -> str:
    """The word of a value that is part of the vocabulary."""
    return f"={dumps(value)}"


def linearize(plan: Plan, tools: Toolset, words: Collection[str]) -> list[PlanLine]:
    """The lines of a plan. `words` are the names, keys and scalars that the vocabulary has. Raises CodecError."""
    memory = Memory()
    return [write_line(entry, tools, words, memory) for entry in entries(plan)]


def write_line(entry: Entry, tools: Toolset, words: Collection[str], memory: Memory) -> PlanLine:
    """The line of one entry; `memory` is brought up to date. Raises CodecError where a reference names no earlier step."""
    writer = _Writer(tools, words, memory)
    writer.entry(entry)
    return PlanLine(tuple(writer.out[:-1]), tuple(writer.values))


def census(plan: Plan, tools: Toolset) -> list[tuple[str, str, Scalar]]:
    """Every (word, role, value) of a plan; names have the role <name>, keys <key>. Raises CodecError."""
    writer = _Census(tools)
    for entry in entries(plan):
        writer.entry(entry)
    return writer.found


class _Writer:
    def __init__(self, tools: Toolset, words: Collection[str], memory: Memory) -> None:
        self.tools, self.words, self.memory = tools, words, memory
        self.out: list[str] = []
        self.values: list[Scalar] = []
        self.expected: list[str] = []
        """Arguments of the tool that need no name if they come next."""

    def entry(self, entry: Entry) -> None:
        _WRITE["line"](self, take_apart(entry) if isinstance(entry, Step) else entry, "")
        if isinstance(entry, Step):
            self.memory.add_step(entry.name)

    def known(self, word: str, value: Scalar, role: str) -> None:
        """A word of the vocabulary, or a slot."""
        if word in self.words:
            self.out.append(word)
        else:
            self.slot(value, role)

    def slot(self, value: Scalar, role: str) -> None:
        slot = self.memory.word(value, role)
        self.out.append(slot)
        if slot == NEW:
            self.values.append(value)
        self.memory.use(value, role)

    def scalar(self, value: Scalar, role: str) -> None:
        self.known(scalar_word(value), value, role)

    def key(self, key: str, role: str) -> None:
        if key_word(key) not in self.words:
            self.out.append("<key>")
        self.known(key_word(key), key, "<key>")

    def name(self, name: str, role: str) -> None:
        self.known(name_word(name), name, "<name>")

    def tool(self, name: str, role: str) -> None:
        if name in self.tools or not self.tools:
            self.name(name, role)
        else:
            self.slot(name, "<name>")  # a tool that the receiver does not know is taken as it is
        self.expected = list(self.tools[name].parameter_names) if name in self.tools else []

    def action(self, name: str, role: str) -> None:
        self.name(name, role)
        self.expected = list(ACTIONS[name].parameter_names) if name in ACTIONS else []

    def argument(self, name: str, role: str) -> None:
        if self.expected[:1] == [name]:
            self.expected.pop(0)
        else:
            self.expected.clear()
            _TABLE["argument"](self, name, role)

    def target(self, node: str, role: str) -> None:
        _TABLE["target"](self, self.memory.point_at(node), role)

    def back(self, count: int, role: str) -> None:
        self.out.append(BACK[count - 1])


_Write = Callable[[_Writer, Any, str], None]
"""Writes a value in a role."""


def _symbol(symbol: str) -> _Write:
    """Writes a symbol: by the first production whose type fits."""
    ways = [(production.shape, _production(production)) for production in GRAMMAR[symbol]]

    def write(writer: _Writer, value: Any, role: str) -> None:
        for shape, way in ways:
            if isinstance(value, shape):
                return way(writer, value, role)
        raise TypeError(f"the grammar has no form for a {symbol} like {value!r}")

    return write if len(ways) > 1 else ways[0][1]


def _production(production: Production) -> _Write:
    """Writes the marks and components of a production, one after the other."""
    if production.passes_on in _SPECIAL:
        return _SPECIAL[production.passes_on]
    components_of, items = production.components, production.items

    def write(writer: _Writer, value: Any, role: str) -> None:
        components = components_of(value)
        at = 0
        for symbol, repeat, is_mark, own, source in items:
            if is_mark:
                writer.out.append(symbol)
                continue
            given = own or (role if source is None else role_of(components[source]))
            component = components[at]
            at += 1
            if repeat:
                for each in component:
                    _WRITE[symbol](writer, each, given)
            else:
                _WRITE[symbol](writer, component, given)

    return write


_SPECIAL: dict[str, _Write] = {
    "scalar": _Writer.scalar,
    "key": _Writer.key,
    "name": _Writer.name,
    "tool": _Writer.tool,
    "action": _Writer.action,
    "argument": _Writer.argument,
    "target": _Writer.target,
    "back": _Writer.back,
}
"""Symbols whose words depend on more than the value: on the vocabulary, the tools, or the lines before."""
_TABLE = {symbol: _symbol(symbol) for symbol in GRAMMAR}
_WRITE = _TABLE | _SPECIAL


class _Census(_Writer):
    """Writes nothing; notes each word, name or value that could be part of a vocabulary."""

    def __init__(self, tools: Toolset) -> None:
        super().__init__(tools, (), Memory())
        self.found: list[tuple[str, str, Scalar]] = []

    def known(self, word: str, value: Scalar, role: str) -> None:
        self.found.append((word, role, value))

    def slot(self, value: Scalar, role: str) -> None:
        """A name that is no tool's cannot be a word."""
