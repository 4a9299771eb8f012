"""The handoff as a value: its header, its tools, what survives a way over text or JSON."""

from __future__ import annotations

import random
from dataclasses import replace

import orjson
import pytest
from graph_strategies import TOOLS, graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from shop import EXCHANGE, SHOP

from graph_handoff.code_words import short_words
from graph_handoff.delegation import Delegation, Tool, Toolset
from graph_handoff.errors import CodecError, InputError, ToolsetError
from graph_handoff.fingerprint import PRIME, locate, words_of
from graph_handoff.graph import Graph
from graph_handoff.handoff import Handoff
from graph_handoff.protocols import load_protocol
from graph_handoff.tokens import count_tokens

DELEGATION = Delegation("one", "Exchange the lamp of order #W6390527.", SHOP, EXCHANGE.to_graph())
SENT = load_protocol("compact").encode(DELEGATION)
NAMES = st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,8}", fullmatch=True)
FORMS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def schema(**kinds: str) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in kinds.items()}}


def tools(**parameters: dict[str, object]) -> Toolset:
    return Toolset(Tool(name, "", given) for name, given in parameters.items())


@given(text=st.text(max_size=40), protocol=NAMES, form=FORMS, number=st.integers(0, PRIME - 1))
def test_the_header_survives_with_any_text_behind_it(text: str, protocol: str, form: str, number: int) -> None:
    words = f"{short_words()[number]} {short_words()[-1 - number]}"
    for sent in (Handoff(text, protocol, form, fingerprint=words), Handoff(text, protocol, protocol)):
        assert Handoff.parse(sent.to_text()) == sent


@pytest.mark.parametrize("text", ["", "no header", "=t5", "= t5\n", "=T5\nx", "=t5 one\nx", "=t5 ab cd ef\nx", "x\n=t5 ab cd\n"])
def test_a_text_without_a_header_has_none(text: str) -> None:
    assert Handoff.parse(text) is None


@pytest.mark.parametrize("protocol", ["nl", "ngh", "compact", "routed"])
def test_json_and_text_arrive(protocol: str) -> None:
    made = load_protocol(protocol)
    sent = made.encode(DELEGATION, 2)
    again = Handoff.from_json(orjson.loads(orjson.dumps(sent.to_json())))
    assert again == sent
    assert sent.tokens == count_tokens(sent.text)
    expected = made.decode(sent, SHOP)
    assert made.decode(again, SHOP) == made.decode(sent.to_text(), SHOP) == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"text": "x"},
        {**SENT.to_json(), "more": 1},
        {**SENT.to_json(), "text": 5},
        {**SENT.to_json(), "decision": {"format": "graph"}},
    ],
)
def test_other_json_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="not a handoff"):
        Handoff.from_json(value)


def test_another_protocols_handoff_is_refused() -> None:
    for received in (SENT, SENT.to_text()):
        with pytest.raises(CodecError, match="another protocol"):
            load_protocol("ngh").decode(received, SHOP)


@settings(max_examples=40, deadline=None)
@given(graph=graphs())
def test_the_header_costs_a_few_tokens(graph: Graph) -> None:
    sent = load_protocol("compact").encode(Delegation("x", "", TOOLS, graph))
    assert count_tokens(sent.to_text()) - sent.tokens <= 6
    assert sent.fingerprint is not None and count_tokens(f" {sent.fingerprint}") == 2


CANCEL, TRACK = schema(order_id="string", reason="string"), schema(n="integer", code="string")
BEFORE = tools(cancel_order=CANCEL, track_order=TRACK)
DRIFTED = {
    "another schema": (tools(cancel_order=schema(order_id="integer", reason="string"), track_order=TRACK), "cancel_order"),
    "keys in another order": (tools(cancel_order=schema(reason="string", order_id="string"), track_order=TRACK), "cancel_order"),
    "one tool more": (tools(cancel_order=CANCEL, track_order=TRACK, ship_order=schema(to="string")), "ship_order"),
}


@pytest.mark.parametrize("case", DRIFTED)
@pytest.mark.parametrize("protocol", ["compact", "ngh"])
def test_a_receiver_with_other_tools_is_told_which_tool_differs(case: str, protocol: str) -> None:
    after, name = DRIFTED[case]
    made = load_protocol(protocol)
    sent = made.encode(replace(DELEGATION, tools=BEFORE, graph=Graph((), ())))
    for received in (sent, sent.to_text()):
        assert made.decode(received, BEFORE).graph is not None
        with pytest.raises(ToolsetError, match=name):
            made.decode(received, after)


def test_a_tool_that_the_receiver_lacks_is_named_where_the_marks_crossed() -> None:
    made = load_protocol("compact")
    sent = made.encode(replace(DELEGATION, tools=BEFORE, graph=Graph((), ())))
    after = Toolset([BEFORE["track_order"]])
    with pytest.raises(ToolsetError, match="not here: cancel_order"):
        made.decode(sent, after)
    with pytest.raises(ToolsetError, match="a tool that is not here, or several"):
        made.decode(sent.to_text(), after)


def test_what_changes_no_reading_changes_no_mark() -> None:
    described = {"properties": {"p": {"type": "string", "description": "y"}}, "type": "object"}
    told = Toolset.from_schemas([{"name": "a", "description": "x", "parameters": described}])
    plain = Toolset.from_schemas([{"name": "a", "parameters": {"type": "object", "properties": {"p": {"type": "string"}}}}])
    assert (told.marks, told.fingerprint) == (plain.marks, plain.fingerprint)
    named = tools(a=schema(description="string", title="string"))
    assert named.marks != tools(a=schema(title="string", description="string")).marks  # parameters of these names count


def test_two_words_name_the_one_tool_that_differs() -> None:
    """Over many toolsets: a changed tool and a new one are always named, and the tools' order does not matter."""
    generator = random.Random(0)
    for _ in range(300):
        own = {f"tool_{generator.randrange(10**6)}": _mark(generator.randrange(16**8)) for _ in range(generator.randint(1, 40))}
        shuffled = dict(generator.sample(list(own.items()), len(own)))
        assert locate(words_of(shuffled), own) == ""
        name = generator.choice(list(own))
        changed = {**own, name: _mark((int(own[name], 16) + generator.randrange(1, PRIME - 1)) % 16**8)}
        assert name in locate(words_of(own), changed)
        assert "new_tool" in locate(words_of(own), {**own, "new_tool": _mark(42)})


def _mark(number: int) -> str:
    return f"{number:08x}"


@pytest.mark.parametrize("words", ["", "ab", "ab cd ef", "ab zz9"])
def test_what_is_no_fingerprint_is_said(words: str) -> None:
    assert "no toolset's fingerprint" in locate(words, SHOP.marks)


def test_bare_text_is_read_as_the_protocols_own_form() -> None:
    assert load_protocol("compact").decode(SENT.text, SHOP) == load_protocol("compact").decode(SENT, SHOP)
