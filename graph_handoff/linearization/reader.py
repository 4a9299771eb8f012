"""Lines of words back to a plan: the inverse of `writer`, by the same table.

`_symbol` and `_production` turn the table into functions that go from words to a value; the methods of `_Reader` are the symbols
that need more than their words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graph_handoff.codec.line import ACTIONS
from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError
from graph_handoff.linearization.automaton import first_moves, moves
from graph_handoff.linearization.grammar import GRAMMAR, LINE, MAX_DEPTH, kind_of
from graph_handoff.linearization.lines import ActionLine, Entry, PlanLine, ToolLine, put_together
from graph_handoff.linearization.memory import BACK, NEW, SAME, SLOT, Memory
from graph_handoff.linearization.production import Item, Production, role_of
from graph_handoff.scalar import Scalar, loads


def read_line(line: PlanLine, tools: Toolset, memory: Memory) -> Entry:
    """The inverse of `write_line`. Raises CodecError where the words do not follow the grammar or point at nothing."""
    reader = _Reader(line, tools, memory)
    entry = _READ["line"](reader, "")
    if reader.at < len(reader.words):
        raise CodecError("words after the end of a line", found=reader.words[reader.at - 1])
    if next(reader.values, None) is not None or reader.taken != len(line.values):
        raise CodecError("values that no slot takes", found=len(line.values), allowed=f"{reader.taken}")
    if not isinstance(entry, (ToolLine, ActionLine)):
        return entry  # type: ignore[no-any-return]
    memory.add_step(entry.name)
    return put_together(entry)


class _Reader:
    def __init__(self, line: PlanLine, tools: Toolset, memory: Memory) -> None:
        self.words, self.tools, self.memory = (*line.words, LINE), tools, memory
        self.values: Iterator[Scalar] = iter(line.values)
        self.at = self.taken = self.depth = 0
        self.known: tuple[str, ...] = ()
        """Arguments of the tool."""
        self.named: list[str] = []
        """Arguments so far."""

    def peek(self) -> str:
        return self.words[self.at]

    def take(self) -> str:
        self.at += 1
        return self.words[self.at - 1]

    def value(self, role: str) -> Any:
        if self.depth > MAX_DEPTH:
            raise CodecError("values are nested too deep")
        self.depth += 1
        value = _TABLE["value"](self, role)
        self.depth -= 1
        return value

    def slot(self, word: str, role: str) -> Scalar:
        if word == NEW:
            self.taken += 1
            try:
                value = next(self.values)
            except StopIteration:
                raise CodecError("a slot without a value") from None
        elif word in SAME or word in SLOT:
            value = self.memory.value(word, role)
        else:
            raise CodecError("expected a value", found=word)
        self.memory.use(value, role)
        return value

    def scalar(self, role: str) -> Scalar:
        word = self.take()
        return _scalar_of(word) if word.startswith("=") else self.slot(word, role)

    def text(self, prefix: str, role: str) -> str:
        word = self.take()
        if word.startswith(prefix):
            return word[1:]
        value = self.slot(word, role)
        if not isinstance(value, str):
            raise CodecError("a name or key is a text", found=value)
        return value

    def name(self, role: str) -> str:
        return self.text("@", "<name>")

    def key(self, role: str) -> str:
        if self.peek() == "<key>":
            self.take()
        elif not self.peek().startswith("."):
            raise CodecError("expected a key", found=self.peek())
        return self.text(".", "<key>")

    def tool(self, role: str) -> str:
        as_it_is = not self.peek().startswith("@")
        name = self.name(role)
        if name in self.tools:
            self.known = self.tools[name].parameter_names
        elif self.tools and not as_it_is:
            raise CodecError("unknown tool", found=name)
        return name

    def action(self, role: str) -> str:
        name = self.name(role)
        self.known = ACTIONS[name].parameter_names if name in ACTIONS else ()
        return name

    def argument(self, role: str) -> str:
        left = self.known[len(self.named) :]
        name: str | None = _TABLE["argument"](self, role)
        if name is None:
            if not left:
                raise CodecError("more arguments than the tool has", found=self.peek())
            name = left[0]
        if name in self.named:
            raise CodecError("an argument is given twice", found=name)
        self.named.append(name)
        return name

    def target(self, role: str) -> str:
        return self.memory.resolve(_TABLE["target"](self, role))

    def back(self, role: str) -> int:
        return BACK.index(self.take()) + 1


_Read = Callable[[_Reader, str], Any]
"""Reads a value in a role."""
_EXPECTED = {"line": "a line cannot start like this", "field": "expected a field"}
"""What is said where no production of a symbol fits; for the others the last production says it."""


def _symbol(symbol: str) -> _Read:
    """Reads a symbol: by the production that the next word begins."""
    ways = [(production, _production(production)) for production in GRAMMAR[symbol]]
    by_kind = {kind: way for production, way in ways for kind in first_moves(production.items)}
    last = None if symbol in _EXPECTED else ways[-1][1]

    def read(reader: _Reader, role: str) -> Any:
        way = by_kind.get(kind_of(reader.words[reader.at]), last)
        if way is None:
            raise CodecError(_EXPECTED[symbol], found=reader.peek())
        return way(reader, role)

    return read if len(by_kind) > 1 or last is None else last


def _production(production: Production) -> _Read:
    """Reads the marks and components of a production, one after the other."""
    if production.passes_on in _SPECIAL:
        return _SPECIAL[production.passes_on]
    make, items = production.result, production.items
    steps = [(item, _goes_on(item, following)) for item, following in zip(items, (*items[1:], None), strict=False)]

    def read(reader: _Reader, role: str) -> Any:
        found: list[Any] = []
        for (symbol, repeat, is_mark, own, source), goes_on in steps:
            if is_mark:
                if reader.words[reader.at] != symbol:
                    raise CodecError("words after the end of a line", found=reader.peek())
                reader.at += 1
                continue
            given = own or (role if source is None else role_of(found[source]))
            if not repeat:
                found.append(_READ[symbol](reader, given))
                continue
            several = [_READ[symbol](reader, given)] if repeat == "+" else []
            while goes_on(reader.words[reader.at]):
                several.append(_READ[symbol](reader, given))
            found.append(tuple(several))
        return make(*found)

    return read


def _goes_on(item: Item, following: Item | None) -> Callable[[str], bool]:
    """Does a repetition continue with this word? Up to the closing mark; where there is none, as long as the words fit."""
    if following is not None and following.is_mark:
        return following.symbol.__ne__
    fitting = moves(item.symbol)
    return lambda word: kind_of(word) in fitting


_SPECIAL: dict[str, _Read] = {
    "value": _Reader.value,
    "scalar": _Reader.scalar,
    "key": _Reader.key,
    "name": _Reader.name,
    "tool": _Reader.tool,
    "action": _Reader.action,
    "argument": _Reader.argument,
    "target": _Reader.target,
    "back": _Reader.back,
}
"""Symbols that need more than their words: the values of slots, the tools, or the lines before."""
_TABLE: dict[str, _Read] = {symbol: _symbol(symbol) for symbol in GRAMMAR}
_READ = _TABLE | _SPECIAL


def _scalar_of(word: str) -> Scalar:
    try:
        value = loads(word[1:])
    except ValueError as error:
        raise CodecError("a word is no value", found=word) from error
    if isinstance(value, (list, dict)):
        raise CodecError("a word is no value", found=word)
    return value  # type: ignore[no-any-return]
