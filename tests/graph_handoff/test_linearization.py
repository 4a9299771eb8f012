"""The linearization is lossless, whatever the plan and the vocabulary, and follows its grammar."""

from __future__ import annotations

import subprocess
import sys

import pytest
from graph_strategies import TOOLS, plans
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError
from graph_handoff.linearization import automaton
from graph_handoff.linearization.grammar import GRAMMAR, LINE, MARKS
from graph_handoff.linearization.line_text import format_words, read_words
from graph_handoff.linearization.lines import PlanLine, plan_of
from graph_handoff.linearization.memory import Memory
from graph_handoff.linearization.reader import read_line
from graph_handoff.linearization.writer import (
    census,
    key_word,
    linearize,
    name_word,
    scalar_word,
)
from graph_handoff.plan import Guard, Plan, Step
from graph_handoff.reference import Reference

WORDS = frozenset(
    [name_word("get_user"), name_word("report"), key_word("user_id"), key_word("items"), key_word("status"), key_word("date")]
    + [scalar_word(value) for value in ("a b", "x=y", True, None, 1)]
)


def read(lines: list[PlanLine], tools: Toolset) -> Plan:
    memory = Memory()
    return plan_of([read_line(line, tools, memory) for line in lines])


@pytest.mark.parametrize("tools", [TOOLS, Toolset()], ids=["tools", "no-tools"])
@pytest.mark.parametrize("words", [WORDS, frozenset()], ids=["words", "no-words"])
@settings(max_examples=25, deadline=None)
@given(plan=plans())
def test_a_plan_survives_its_lines(tools: Toolset, words: frozenset[str], plan: Plan) -> None:
    plan = Plan.from_graph(plan.to_graph())
    lines = linearize(plan, tools, words)
    assert read(lines, tools) == plan
    for line in lines:
        assert automaton.run(automaton.START, (*line.words, LINE)) == ()
        assert set(line.words) <= words | set(MARKS)


@settings(max_examples=50, deadline=None)
@given(plan=plans(), data=st.data())
def test_a_damaged_line_is_read_or_refused_never_a_crash(plan: Plan, data: st.DataObject) -> None:
    memory = Memory()
    for line in linearize(plan, TOOLS, WORDS):
        words = list(line.words)
        words[data.draw(st.integers(0, len(words) - 1))] = data.draw(st.sampled_from([*MARKS, *sorted(WORDS)]))
        try:
            read_line(PlanLine(tuple(words), line.values), TOOLS, memory)
        except CodecError as error:
            assert str(error)


@pytest.mark.parametrize("symbol", GRAMMAR)
def test_the_next_word_decides_what_is_read(symbol: str) -> None:
    """No two productions of a symbol begin alike, and what may be repeated is told from what follows it."""
    begins = [set(automaton.first_moves(production.items)) for production in GRAMMAR[symbol]]
    assert sum(map(len, begins)) == len(set().union(*begins))
    for production in GRAMMAR[symbol]:
        for number, item in enumerate(production.items):
            follows = set(automaton.first_moves(production.items[number + 1 :])) - {automaton.EMPTY}
            assert not item.repeat or not follows & set(automaton.moves(item.symbol))


def test_every_mark_has_a_sign_of_its_own() -> None:
    assert len({format_words([mark]) for mark in MARKS if mark != LINE}) == len(MARKS) - 1
    assert all(read_words(format_words([mark])) == (mark,) for mark in MARKS if mark != LINE)


EXTENDED = """
from typing import NamedTuple
from graph_handoff.linearization import grammar
from graph_handoff.linearization.production import Production

class Sum(NamedTuple):
    terms: tuple

grammar.GRAMMAR["value"] = (Production("<sum> value* <end>", Sum), *grammar.GRAMMAR["value"])

from graph_handoff.delegation import Toolset
from graph_handoff.linearization import automaton, line_text, reader, writer
from graph_handoff.linearization.memory import Memory
from graph_handoff.plan import Plan, Step

step = Step("pay", {"total": Sum((1, Sum((2, "b")))), "rest": [Sum(())]})
(line,) = writer.linearize(Plan((step,)), Toolset(), ())
assert reader.read_line(line, Toolset(), Memory()) == step
assert automaton.run(automaton.START, (*line.words, "<line>")) == ()
assert len(line_text.parts(line.words)) == 3
"""


def test_a_new_production_is_one_entry_of_the_table() -> None:
    """In a process of its own: writer, reader, automaton and text form follow the table that they find when they are imported."""
    subprocess.run([sys.executable, "-c", EXTENDED], check=True)


def test_the_lines_read_as_documented() -> None:
    steps = (
        Step("get_user", {"user_id": "mei_1"}),
        Step("get_user", {"user_id": "mei_2"}),
        Step("get_order", {"order_id": Reference("t1", ("orders", 0))}, after=("t2",)),
        Step("get_order", {"order_id": "mei_1"}, (Guard(Reference("t1", ("status",)), "ok"),)),
    )
    words = {*map(name_word, TOOLS), *map(key_word, ("orders", "status")), scalar_word(0)}
    assert [" ".join(line.words) for line in linearize(Plan(steps), TOOLS, words)] == [
        "<tool_call> @get_user <new>",
        "<tool_call> @get_user <new>",
        "<tool_call> @get_order <depends_on> <back1> @get_user .orders <index> =0 <follows> <back1> @get_user",
        "<tool_call> @get_order <slot1> <precondition> <back1> @get_user .status <new>",
    ]


def test_a_line_does_not_depend_on_its_place() -> None:
    pair = (Step("get_user", {"user_id": "a1"}), Step("get_order", {"order_id": Reference("t1", ("id",))}))
    later = (*pair, Step("get_user", {"user_id": "b2"}), Step("get_order", {"order_id": Reference("t3", ("id",))}))
    lines = linearize(Plan(later), TOOLS, WORDS | {key_word("id"), *map(name_word, TOOLS)})
    assert [line.words for line in lines[:2]] == [line.words for line in lines[2:]]


def test_the_census_finds_what_could_be_a_word() -> None:
    found = census(Plan((Step("get_user", {"user_id": "a1"}),)), TOOLS)
    assert found == [(name_word("get_user"), "<name>", "get_user"), (scalar_word("a1"), "user_id", "a1")]


@pytest.mark.parametrize(
    ("words", "values", "message"),
    [
        (("<tool_call>", "@get_user", "<same0>"), (), "points at no earlier value"),
        (("<tool_call>", "@get_user", "<new>"), (), "a slot without a value"),
        (("<tool_call>", "@get_user"), ("a1",), "values that no slot takes"),
        (("<tool_call>", "@get_user", "<depends_on>", "@get_user"), (), "names no earlier step"),
        (("<tool_call>", "@get_user", "<new>", "<new>"), ("a1", "b2"), "more arguments than the tool has"),
        (("<list>",), (), "cannot start like this"),
    ],
)
def test_a_line_that_says_nothing_is_refused(words: tuple[str, ...], values: tuple[str, ...], message: str) -> None:
    with pytest.raises(CodecError, match=message):
        read_line(PlanLine(words, values), TOOLS, Memory())
