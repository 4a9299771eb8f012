"""Codecs are lossless, whatever a graph holds."""

from __future__ import annotations

import pytest
from graph_strategies import TOOLS, graphs, paths, plans
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_handoff.codec import CODECS, load_codec
from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError, GraphError
from graph_handoff.graph import Graph, validate
from graph_handoff.plan import Plan, Step
from graph_handoff.reference import Reference, format_path, parse_reference


@given(plans())
def test_a_plan_survives_its_graph(plan: Plan) -> None:
    graph = validate(plan.to_graph())
    again, names = Plan.read(graph)
    assert again.to_graph() == graph
    assert all(names[n.id] == n.id for n in graph.nodes)


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("tools", [TOOLS, Toolset()], ids=["tools", "no-tools"])
@settings(max_examples=80, deadline=None)
@given(graph=graphs())
def test_every_codec_is_lossless(name: str, tools: Toolset, graph: Graph) -> None:
    validate(graph)
    codec = load_codec(name)
    text = codec.encode(graph, tools)
    again = codec.decode(text, tools)
    assert again.same_as(graph)
    assert codec.encode(again, tools) == text or text.startswith("{")


@given(paths)
def test_a_path_survives_its_text(path: tuple) -> None:  # type: ignore[type-arg]
    assert parse_reference(f"t1{format_path(path)}") == Reference("t1", path)


@settings(max_examples=80, deadline=None)
@given(plan=plans(), cut=st.floats(0, 1), junk=st.text(max_size=4))
def test_damaged_text_is_read_or_refused_never_a_crash(plan: Plan, cut: float, junk: str) -> None:
    text = load_codec("compact").encode(plan.to_graph(), TOOLS)
    at = int(cut * len(text))
    for damaged in (text[:at], text[:at] + junk + text[at:]):
        try:
            validate(load_codec("compact").decode(damaged, TOOLS))
        except (CodecError, GraphError) as error:
            assert str(error)


def test_the_compact_form_reads_as_documented() -> None:
    text = "\n".join(
        [
            "get_user mei_1",
            "order #W1 true",
            'book [(HAT1 2024-05-20) ($2.next[kind=big one].id "a b")] 2 ?$1.status=ok !status="on its way" <2',
            "*report [$1.email]",
        ]
    )
    text = text.replace("get_user", "user")
    plan = Plan.from_graph(load_codec("compact").decode(text, TOOLS))
    assert [s.name for s in plan.steps] == ["get_user", "get_order", "book_flight", "report"]
    assert plan.steps[1].arguments == {"order_id": "#W1", "full": True}
    assert plan.steps[2].arguments["flights"][0] == {"number": "HAT1", "date": "2024-05-20"}
    assert plan.steps[2].after == ("t2",)
    assert load_codec("compact").encode(plan.to_graph(), TOOLS) == text


def test_a_bad_line_is_named() -> None:
    with pytest.raises(CodecError, match=r"record line 2: unknown tool \(did you mean 'get_user'\?\)"):
        load_codec("compact").decode("user 1\nget_usr 2", TOOLS)
    with pytest.raises(GraphError, match="names an unknown node; found 't7'"):
        load_codec("compact").decode("user $7", TOOLS)


def test_long_integers_keep_their_digits() -> None:
    plan = Plan((Step("get_user", {"user_id": "00713", "extra": 2**70 + 1}),))
    for name in CODECS:
        codec = load_codec(name)
        again = Plan.from_graph(codec.decode(codec.encode(plan.to_graph(), TOOLS), TOOLS))
        assert again.steps[0].arguments == {"user_id": "00713", "extra": 2**70 + 1}
