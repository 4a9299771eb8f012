"""The grammar of a line, once, as a table: the writer, the reader, the decoding constraint and the text form are driven by it.

A plan is one line a step, before them one for the goal (where it is not the default) and one for each rule. `GRAMMAR` gives for
each symbol its productions. The form of a production reads like a rule in BNF: `<list>` is a word that stands for itself, `value`
a symbol, `*` any number of them, `+` one or more. In brackets is the role in which a value is used, which decides what a slot
points at (`memory`): `scalar(place)` has the last key of the path beside it as its role, `scalar(<goal>)` that mark itself; a
symbol without brackets passes on the role of the symbol that it is part of.

The other ends are words of the vocabulary and slots:

    .key  @name  =scalar      a key, the name of a tool or action, a value (as JSON), where the vocabulary has it
    slot                      everything else: `<new>`, `<sameN>` or `<slotN>`
    back                      `<backN>`

So a line reads the same at any place in a plan, and the model that writes it never writes a value: see `PlanLine.values`. The
linearization is lossless for every plan and every vocabulary.

To add a production is to add it here: its form, its sign in the text form (`line_text`), the Python type that it writes, and
where that is no dataclass with one field for each symbol, `take` (value -> its components) and `make` (the inverse). A new kind
of part of a step also needs its place in a `Step`: `lines.take_apart` and `lines.put_together`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from graph_handoff.errors import CodecError
from graph_handoff.linearization.lines import ActionLine, After, Argument, GoalLine, RuleLine, ToolLine, text_of
from graph_handoff.linearization.memory import BACK, NEW, SAME, SLOT, Earlier, Numbered, Recent
from graph_handoff.linearization.production import Production
from graph_handoff.plan import Effect, Guard
from graph_handoff.reference import PathStep, Reference, Select
from graph_handoff.scalar import Scalar

LINE, END = "<line>", "<end>"
MAX_DEPTH = 16
"""How deep lists and objects may be nested in a line that is read."""


def _index(place: Scalar) -> int:
    if not isinstance(place, int) or isinstance(place, bool) or place < 0:
        raise CodecError("an index is a number", found=place)
    return place


def _of_guard(guard: Guard) -> Sequence[Any]:
    return guard.that.node, guard.that.path, guard.equals


def _guard(node: str, path: tuple[PathStep, ...], equals: Scalar) -> Guard:
    return Guard(Reference(node, path), equals)


P = Production
GRAMMAR: Mapping[str, tuple[Production, ...]] = {
    "line": (
        P("<goal> scalar(<goal>) <line>", GoalLine, "#", make=lambda text: GoalLine(text_of(text))),
        P("<constraint> scalar(<constraint>) <line>", RuleLine, "%", make=lambda text: RuleLine(text_of(text))),
        P("<tool_call> tool part* <line>", ToolLine, ">"),
        P("<action> action part* <line>", ActionLine, "*"),
    ),
    "tool": (P("name"),),
    "action": (P("name"),),
    "argument": (  # the name of an argument
        P("<tool_arg> key", str, ":"),
        P("", type(None), make=lambda: None),  # the next argument of the tool's schema needs no words
    ),
    "part": (  # of a step
        P("<precondition> target place* scalar(place)", Guard, "?", _of_guard, _guard),
        P("<postcondition> place* scalar(place)", Effect, "!"),
        P("<follows> target", After, "<"),
        P("argument value(argument)", Argument),
    ),
    "value": (
        P("<depends_on> target place*", Reference, "$"),
        P("<list> value* <end>", list, "["),
        P("<object> field* <end>", dict, "(", take=lambda value: (value.items(),)),
        P("scalar"),
    ),
    "field": (P("<field> key value(key)", tuple, ","),),
    "place": (  # one step of a path into a result
        P("key", str),
        P("<index> scalar(<index>)", int, "/", make=_index),
        P("<select> condition* <end>", Select, "{"),
    ),
    "condition": (P("key+ scalar(key)", tuple),),
    "key": (P("."), P("<key> slot", sign=".")),
    "target": (  # an earlier step: see `memory`
        P("<step> scalar(<step>)", Numbered, "&"),
        P("back name", Earlier),
        P("name", Recent),
    ),
    "name": (P("@"), P("slot")),
    "scalar": (P("="), P("slot")),
}
"""Symbol -> its productions; the first whose type fits is written, and where no word says which one is read, the last."""
# The forms of tool, action, argument, key, name and scalar say which words they are; which of them is written depends on the
# vocabulary and on the schema of the tool: see the methods of these names in `writer` and `reader`.

SIGNS: Mapping[str, str] = {
    mark: production.sign
    for productions in GRAMMAR.values()
    for production in productions
    if production.sign
    for mark in [production.items[0].symbol]
}
"""Mark of a production -> its sign in the text form."""
MARKS = (LINE, END, NEW, *SIGNS, *SAME, *SLOT, *BACK)
"""The dedicated words: every vocabulary has them."""

_KINDS = dict.fromkeys((NEW, *SAME, *SLOT), "slot") | dict.fromkeys(BACK, "back")
_PREFIXES = frozenset("@.=")


@lru_cache(1 << 16)
def kind_of(word: str) -> str:
    """The terminal that a word is: itself, or what it stands for."""
    return _KINDS.get(word) or (word[:1] if word[:1] in _PREFIXES else word)
