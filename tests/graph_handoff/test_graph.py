"""The schema: directions, validation, order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from graph_strategies import graphs, plans
from hypothesis import given
from hypothesis import strategies as st

from graph_handoff.errors import CodecError, GraphError
from graph_handoff.graph import Graph, order, predecessors, step_order, validate
from graph_handoff.plan import Plan
from graph_handoff.schema import MAX_NODES, RELATIONS, NodeType, Relation, executor_instructions, json_schema, markdown


def node(node_id: str, kind: str = "tool_call", value: object = "f") -> dict[str, object]:
    return {"id": node_id, "type": kind, "value": value}


def edge(src: str, relation: str, dst: str) -> dict[str, str]:
    return {"src": src, "dst": dst, "relation": relation}


def test_all_types_and_relations_are_told_to_the_executor() -> None:
    text = executor_instructions()
    assert all(kind.value in text for kind in NodeType)
    assert all(relation.value in text for relation in Relation)
    assert all("{src}" in rule.reading and "{dst}" in rule.reading for rule in RELATIONS.values())
    assert json_schema()["properties"]["nodes"]["items"]["properties"]["type"]["enum"] == [t.value for t in NodeType]


def test_the_page_on_graphs_shows_the_tables() -> None:
    page = (Path(__file__).parents[2] / "docs" / "graph.md").read_text(encoding="utf-8")
    assert page.split("<!-- tables -->\n")[1].split("<!-- end of tables -->")[0] == markdown()


def test_depends_on_reads_as_the_words_do_and_the_reverse_only_when_told() -> None:
    value = {"nodes": [node("t1"), node("t2")], "edges": [edge("t1", "depends_on", "t2")]}
    assert step_order(Graph.from_json(value)) == ["t2", "t1"]
    assert step_order(Graph.from_json(value, reverse_depends_on=True)) == ["t1", "t2"]


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([node("a"), node("a")], [], "two nodes have the same id; found 'a'"),
        ([node("a"), node("b")], [edge("a", "follows", "c")], "names an unknown node"),
        ([node("a"), node("b")], [edge("a", "folows", "b")], r"unknown relation \(did you mean 'follows'\?\)"),
        ([node("a", "toolcall")], [], r"unknown node type \(did you mean 'tool_call'\?\)"),
        (
            [node("a"), node("b")],
            [edge("a", "follows", "b"), edge("b", "depends_on", "a")],
            r"cycle: a -> b -> a|cycle: b -> a -> b",
        ),
        (
            [node("a"), node("g", "goal", "x")],
            [edge("a", "requires", "g")],
            "requires cannot join these types; found 'tool_call -> goal'",
        ),
        ([node("a")], [edge("a", "follows", "a")], "joins a node to itself"),
        ([node("a"), node("b")], [edge("a", "follows", "b")] * 2, "is given twice"),
        ([node("a", "tool_arg", "x")], [], r"the value of a tool_arg is \{name, value\}"),
        ([node("a", "tool_call", 3)], [], "the value of a tool_call is its name"),
        ([node("x", "tool_arg", {"name": "n", "value": {"$ref": "t9"}})], [], "names no node"),
        ([node("t"), node("x", "tool_arg", {"name": "n", "value": {"$ref": "t"}})], [], "no edge makes that run first"),
        ([node("a b")], [], "a node's id is 1 to 64"),
        ([node("a", "goal", float("nan"))], [], "must be finite"),
        ([node(f"n{i}") for i in range(MAX_NODES + 1)], [], "too many"),
    ],
)
def test_every_broken_rule_is_named(nodes: list, edges: list, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(GraphError, match=message):
        Graph.from_json({"nodes": nodes, "edges": edges})


def test_deep_and_foreign_input_is_refused() -> None:
    deep: object = 1
    for _ in range(40):
        deep = [deep]
    with pytest.raises(GraphError, match="nested more than"):
        Graph.from_json({"nodes": [node("g", "goal", deep)], "edges": []})
    for text in ("", "[1]", '{"nodes": 3}', '{"nodes": [], "edges": [], "extra": 1}', "[" * 100_000, '{"nodes": NaN}'):
        with pytest.raises((GraphError, CodecError)):
            Graph.loads(text)


@given(graphs(), st.randoms())
def test_order_respects_every_edge_and_ignores_their_listing(graph: Graph, rng: random.Random) -> None:
    place = {node_id: number for number, node_id in enumerate(order(graph))}
    assert all(place[other] < place[node_id] for node_id, earlier in predecessors(graph).items() for other in earlier)
    shuffled = list(graph.edges)
    rng.shuffle(shuffled)
    assert order(validate(Graph(graph.nodes, tuple(shuffled)))) == order(graph)


@given(plans())
def test_a_plan_runs_in_the_order_it_was_written(plan: Plan) -> None:
    assert step_order(plan.to_graph()) == [f"t{n + 1}" for n in range(len(plan.steps))]
