"""Lines of words back to a plan: the inverse of `graph_handoff.linearization.writer`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graph_handoff.codec.line import ACTIONS
from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError
from graph_handoff.linearization.writer import (
    BACK,
    END,
    LINE,
    MAX_DEPTH,
    NEW,
    SAME,
    SLOT,
    Entry,
    Goal,
    Line,
    Memory,
    Rule,
    role_of,
)
from graph_handoff.plan import Effect, Guard, Step, step_id
from graph_handoff.reference import PathStep, Reference, Select
from graph_handoff.scalar import Scalar, loads


def read_line(line: Line, tools: Toolset, memory: Memory) -> Entry:
    """The inverse of `write_line`. Raises CodecError where the words do not follow the grammar or point at nothing."""
    reader = _Reader(line, memory)
    entry = reader.entry(tools)
    if reader.at < len(line.words):
        raise CodecError("words after the end of a line", found=line.words[reader.at])
    if next(reader.values, None) is not None or reader.taken != len(line.values):
        raise CodecError("values that no slot takes", found=len(line.values), allowed=f"{reader.taken}")
    if isinstance(entry, Step):
        memory.add_step(entry.name)
    return entry


class _Reader:
    def __init__(self, line: Line, memory: Memory) -> None:
        self.words, self.memory = line.words, memory
        self.values: Iterator[Scalar] = iter(line.values)
        self.at = self.taken = 0

    def peek(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else LINE

    def take(self) -> str:
        word = self.peek()
        self.at += 1
        return word

    def skip(self, word: str) -> bool:
        found = self.peek() == word
        self.at += found
        return found

    def entry(self, tools: Toolset) -> Entry:
        mark = self.take()
        if mark in ("<goal>", "<constraint>"):
            text = self.scalar(mark)
            if not isinstance(text, str):
                raise CodecError("a goal or constraint is a text", found=text)
            return Goal(text) if mark == "<goal>" else Rule(text)
        if mark not in ("<tool_call>", "<action>"):
            raise CodecError("a line cannot start like this", found=mark)
        return self.step(tools, mark == "<action>")

    def step(self, tools: Toolset, is_action: bool) -> Step:
        as_it_stands = is_action or not self.peek().startswith("@")
        name = self.name()
        tool = (ACTIONS if is_action else tools).get(name)
        if tool is None and not as_it_stands and tools:
            raise CodecError("unknown tool", found=name)
        known = tool.parameter_names if tool else ()
        arguments: dict[str, Any] = {}
        guards: list[Guard] = []
        effects: list[Effect] = []
        after: list[str] = []
        while self.at < len(self.words):
            if self.skip("<precondition>"):
                that = Reference(self.target(), self.path())
                guards.append(Guard(that, self.scalar(role_of(that.path))))
            elif self.skip("<postcondition>"):
                path = self.path()
                effects.append(Effect(path, self.scalar(role_of(path))))
            elif self.skip("<follows>"):
                after.append(self.target())
            else:
                argument = self.argument(known[len(arguments) :])
                if argument in arguments:
                    raise CodecError("an argument stands there twice", found=argument)
                arguments[argument] = self.value(argument)
        return Step(name, arguments, tuple(guards), tuple(effects), tuple(after), is_action)

    def argument(self, left: tuple[str, ...]) -> str:
        if self.skip("<tool_arg>"):
            return self.key()
        if not left:
            raise CodecError("more arguments than the tool has", found=self.peek())
        return left[0]

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

    def name(self) -> str:
        return self.text("@", "<name>")

    def key(self) -> str:
        if not self.skip("<key>") and not self.peek().startswith("."):
            raise CodecError("expected a key", found=self.peek())
        return self.text(".", "<key>")

    def value(self, role: str, depth: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise CodecError("values are nested too deep")
        if self.skip("<depends_on>"):
            return Reference(self.target(), self.path())
        if self.skip("<list>"):
            items = []
            while not self.skip(END):
                items.append(self.value(role, depth + 1))
            return items
        if self.skip("<object>"):
            fields: dict[str, Any] = {}
            while not self.skip(END):
                if not self.skip("<field>"):
                    raise CodecError("expected a field", found=self.peek())
                key = self.key()
                fields[key] = self.value(key, depth + 1)
            return fields
        return self.scalar(role)

    def target(self) -> str:
        if self.skip("<step>"):
            place = self.scalar("<step>")
            if not isinstance(place, int) or isinstance(place, bool) or not 0 < place <= len(self.memory.names):
                raise CodecError("a reference names no earlier step", found=place)
            self.memory.use_step(place - 1)
            return step_id(place - 1)
        back = BACK.index(self.take()) + 1 if self.peek() in BACK else 0
        name = self.name()
        places = self.memory.calls.get(name, [])
        if back >= len(places):
            raise CodecError("a reference names no earlier step", found=name)
        place = places[back]
        self.memory.use_step(place)
        return step_id(place)

    def path(self) -> tuple[PathStep, ...]:
        path: list[PathStep] = []
        while True:
            word = self.peek()
            if word == "<key>" or word.startswith("."):
                path.append(self.key())
            elif self.skip("<index>"):
                place = self.scalar("<index>")
                if not isinstance(place, int) or isinstance(place, bool) or place < 0:
                    raise CodecError("an index is a number", found=place)
                path.append(place)
            elif self.skip("<select>"):
                path.append(self.select())
            else:
                return tuple(path)

    def select(self) -> Select:
        conditions: list[tuple[tuple[str, ...], Scalar]] = []
        while not self.skip(END):
            keys = [self.key()]
            while self.peek() == "<key>" or self.peek().startswith("."):
                keys.append(self.key())
            conditions.append((tuple(keys), self.scalar(keys[-1])))
        return Select(tuple(conditions))


def _scalar_of(word: str) -> Scalar:
    try:
        value = loads(word[1:])
    except ValueError as error:
        raise CodecError("a word is no value", found=word) from error
    if isinstance(value, (list, dict)):
        raise CodecError("a word is no value", found=word)
    return value  # type: ignore[no-any-return]
