"""A plan as lines of words: its structure in words of a small vocabulary, every other value lifted out, verbatim.

One line a step, before them one for the goal (where it is not the default) and one for each rule:

    line   :=  <goal> scalar | <constraint> scalar | (<tool_call> | <action>) name part*
    part   :=  value                            the next argument of the tool's schema
            |  <tool_arg> key value             any other argument
            |  <precondition> target path scalar  |  <postcondition> path scalar  |  <follows> target
    value  :=  scalar | <depends_on> target path | <list> value* <end> | <object> (<field> key value)* <end>
    path   :=  ( key | <index> scalar | <select> (key+ scalar)* <end> )*
    target :=  [<backN>] name | <step> scalar

A step is named by its tool, not by its number: `@get_order_details` is the call of it that was made or used last,
`<back1> @get_order_details` the one before that. A scalar is a word of the vocabulary (`="pending"`), or a slot: `<new>` for a
value that has not occurred, `<sameN>` for the value that was used Nth to last in this role (argument or key of that name),
`<slotN>` for the one used Nth to last in any role. So a line reads the same wherever it stands, and the model that writes it
never writes a value: see `Line.values`.

Names and keys outside of the vocabulary are slots, too; the linearisation is lossless for every plan and every vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_handoff.codec.line import ACTIONS
from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError
from graph_handoff.plan import Plan, Step, step_id
from graph_handoff.reference import PathStep, Reference
from graph_handoff.scalar import Scalar, dumps

NEW, LINE, END = "<new>", "<line>", "<end>"
SAME = tuple(f"<same{rank}>" for rank in range(16))
SLOT = tuple(f"<slot{rank}>" for rank in range(32))
BACK = tuple(f"<back{count}>" for count in range(1, 17))
STRUCTURE = (
    *("<goal>", "<constraint>", "<tool_call>", "<action>", "<tool_arg>", "<precondition>", "<postcondition>", "<follows>"),
    *("<depends_on>", "<list>", "<object>", "<field>", "<index>", "<select>", "<key>", "<step>"),
)
MARKS = (LINE, END, NEW, *STRUCTURE, *SAME, *SLOT, *BACK)
"""The dedicated words: every vocabulary has them."""
MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its words, without the closing <line>, and the values of its <new> slots in order."""

    words: tuple[str, ...]
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """The line of a goal."""

    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """The line of a constraint."""

    text: str


Entry = Step | Goal | Rule
"""What one line holds."""


def name_word(name: str) -> str:
    """The word of a tool or action."""
    return f"@{name}"


def key_word(key: str) -> str:
    """The word of a key or argument name."""
    return f".{key}"


def scalar_word(value: Scalar) -> str:
    """The word of a value that is part of the vocabulary."""
    return f"={dumps(value)}"


def entries(plan: Plan) -> list[Entry]:
    """What stands on the lines of a plan."""
    goal = [Goal(plan.goal)] if plan.goal is not None else []
    return [*goal, *map(Rule, plan.rules), *plan.steps]


def plan_of(found: Sequence[Entry]) -> Plan:
    """The inverse of `entries`; where there are several goals the first counts."""
    goals = [entry.text for entry in found if isinstance(entry, Goal)]
    rules = tuple(entry.text for entry in found if isinstance(entry, Rule))
    return Plan(tuple(e for e in found if isinstance(e, Step)), goals[0] if goals else None, rules)


def linearise(plan: Plan, tools: Toolset, words: Collection[str]) -> list[Line]:
    """The lines of a plan. `words` are the names, keys and scalars that the vocabulary has. Raises CodecError."""
    memory = Memory()
    return [write_line(entry, tools, words, memory) for entry in entries(plan)]


@dataclass
class Memory:
    """What the lines so far have named: both sides keep it alike, so that a line can point back."""

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

    def use_step(self, place: int) -> None:
        """Remember that a step was used."""
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


def write_line(entry: Entry, tools: Toolset, words: Collection[str], memory: Memory) -> Line:
    """The line of one entry; `memory` is brought up to date. Raises CodecError where a reference names no earlier step."""
    writer = _Writer(words, memory)
    if isinstance(entry, Step):
        writer.step(entry, tools)
        memory.add_step(entry.name)
    else:
        writer.out.append("<goal>" if isinstance(entry, Goal) else "<constraint>")
        writer.scalar(entry.text, writer.out[0])
    return Line(tuple(writer.out), tuple(writer.values))


class _Writer:
    def __init__(self, words: Collection[str], memory: Memory) -> None:
        self.words, self.memory = words, memory
        self.out: list[str] = []
        self.values: list[Scalar] = []

    def step(self, step: Step, tools: Toolset) -> None:
        self.out.append("<action>" if step.is_action else "<tool_call>")
        if step.is_action or step.name in tools or not tools:
            self.known(name_word(step.name), step.name, "<name>")
        else:
            self.slot(step.name, "<name>")  # a tool that the receiver does not know is taken as it stands
        tool = (ACTIONS if step.is_action else tools).get(step.name)
        expected = list(tool.parameter_names) if tool else []
        for name, value in step.arguments.items():
            if expected[:1] == [name]:
                expected.pop(0)
            else:
                expected.clear()
                self.out.append("<tool_arg>")
                self.key(name)
            self.value(value, name)
        for guard in step.guards:
            self.out.append("<precondition>")
            self.target(guard.that.node)
            self.path(guard.that.path)
            self.scalar(guard.equals, role_of(guard.that.path))
        for effect in step.effects:
            self.out.append("<postcondition>")
            self.path(effect.path)
            self.scalar(effect.equals, role_of(effect.path))
        for other in step.after:
            self.out.append("<follows>")
            self.target(other)

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

    def key(self, key: str) -> None:
        if key_word(key) not in self.words:
            self.out.append("<key>")
        self.known(key_word(key), key, "<key>")

    def value(self, value: Any, role: str) -> None:
        if isinstance(value, Reference):
            self.out.append("<depends_on>")
            self.target(value.node)
            self.path(value.path)
        elif isinstance(value, list):
            self.out.append("<list>")
            for item in value:
                self.value(item, role)
            self.out.append(END)
        elif isinstance(value, dict):
            self.out.append("<object>")
            for key, item in value.items():
                self.out.append("<field>")
                self.key(key)
                self.value(item, key)
            self.out.append(END)
        else:
            self.scalar(value, role)

    def target(self, node: str) -> None:
        names = self.memory.names
        place = int(node[1:]) - 1 if node[1:].isdecimal() else -1
        if not 0 <= place < len(names) or node != step_id(place):
            raise CodecError("a reference names no earlier step", found=node)
        back = self.memory.calls[names[place]].index(place)
        if back > len(BACK):
            self.out.append("<step>")
            self.scalar(place + 1, "<step>")
        else:
            self.out += [BACK[back - 1]] if back else []
            self.known(name_word(names[place]), names[place], "<name>")
        self.memory.use_step(place)

    def path(self, path: tuple[PathStep, ...]) -> None:
        for step in path:
            if isinstance(step, str):
                self.key(step)
            elif isinstance(step, int):
                self.out.append("<index>")
                self.scalar(step, "<index>")
            else:
                self.out.append("<select>")
                for keys, value in step.conditions:
                    for key in keys:
                        self.key(key)
                    self.scalar(value, keys[-1])
                self.out.append(END)


class _Census(_Writer):
    """Writes nothing; notes each word, name or value that could be part of a vocabulary."""

    def __init__(self) -> None:
        super().__init__((), Memory())
        self.found: list[tuple[str, str, Scalar]] = []

    def known(self, word: str, value: Scalar, role: str) -> None:
        self.found.append((word, role, value))

    def slot(self, value: Scalar, role: str) -> None:
        """A name that is no tool's cannot be a word."""


def census(plan: Plan, tools: Toolset) -> list[tuple[str, str, Scalar]]:
    """Every (word, role, value) of a plan; names have the role <name>, keys <key>. Raises CodecError."""
    writer = _Census()
    for entry in entries(plan):
        if isinstance(entry, Step):
            writer.step(entry, tools)
            writer.memory.add_step(entry.name)
        else:
            writer.scalar(entry.text, "<goal>" if isinstance(entry, Goal) else "<constraint>")
    return writer.found


def role_of(path: tuple[PathStep, ...]) -> str:
    """The role of the value at the end of a path: its last key."""
    return next((step for step in reversed(path) if isinstance(step, str)), "")
