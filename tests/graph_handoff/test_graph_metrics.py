"""Graph metrics: what must not change them, and what must."""

from __future__ import annotations

import random
from typing import Any

import pytest
from graph_strategies import graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_handoff.graph import Edge, Graph, Node, validate
from graph_handoff.graph_metrics import METRICS, compare
from graph_handoff.plan import Plan, Step
from graph_handoff.reference import from_json, parse_reference, rename, to_json
from graph_handoff.schema import NodeType, Relation

PERFECT = {"validity": 1, "node_f1": 1, "edge_f1": 1, "argument_name_f1": 1, "argument_value_f1": 1, "order_violations": 0}
F1 = tuple(name for name in METRICS if name.endswith("f1"))


def renamed(graph: Graph, names: dict[str, str]) -> Graph:
    def value(v: Any) -> Any:
        return to_json(rename(from_json(v), names)) if isinstance(v, (dict, list)) else v

    nodes = tuple(Node(names[n.id], n.type, value(n.value)) for n in graph.nodes)
    return Graph(nodes, tuple(Edge(names[e.src], names[e.dst], e.relation) for e in graph.edges))


def shuffled(graph: Graph, seed: int) -> Graph:
    chance = random.Random(seed)
    nodes, edges = list(graph.nodes), list(graph.edges)
    chance.shuffle(nodes)
    chance.shuffle(edges)
    return Graph(tuple(nodes), tuple(edges))


@settings(max_examples=10, deadline=None)
@given(graph=graphs(), seed=st.integers(0, 9))
def test_a_graph_is_itself_under_other_ids_and_in_another_listing(graph: Graph, seed: int) -> None:
    names = {n.id: f"z{number}" for number, n in enumerate(reversed(graph.nodes))}
    for other in (graph, renamed(graph, names), shuffled(graph, seed), shuffled(renamed(graph, names), seed)):
        assert compare(validate(other), graph) == PERFECT


@settings(max_examples=10, deadline=None)
@given(graph=graphs(), other=graphs(), seed=st.integers(0, 9))
def test_f1_is_symmetric_and_in_range(graph: Graph, other: Graph, seed: int) -> None:
    forth, back = compare(other, graph), compare(graph, other)
    assert {name: forth[name] for name in F1} == {name: back[name] for name in F1}
    assert all(0 <= forth[name] <= 1 for name in F1)


@settings(max_examples=10, deadline=None)
@given(graph=graphs(), at=st.integers(0, 99))
def test_a_dropped_node_lowers_node_f1(graph: Graph, at: int) -> None:
    if graph.nodes:
        gone = graph.nodes[at % len(graph.nodes)].id
        left = Graph(tuple(n for n in graph.nodes if n.id != gone), tuple(e for e in graph.edges if gone not in (e.src, e.dst)))
        assert compare(left, graph)["node_f1"] < 1


def test_none_and_an_invalid_graph_score_nothing() -> None:
    gold = Plan((Step("get_user"),)).to_graph()
    loop = Graph(gold.nodes, (Edge("t1", "t1", Relation.FOLLOWS),))
    assert compare(None, gold) == compare(loop, gold) == dict.fromkeys(METRICS, 0.0)


def orders(*ids: str, source: str = "t2") -> Graph:
    lookups = tuple(Step("get_order", {"order_id": order}) for order in ids)
    return Plan((*lookups, Step("cancel", {"user": parse_reference(f"{source}.user")}))).to_graph()


def test_equal_calls_are_paired_before_the_others() -> None:
    """One wrong lookup among three costs one value; the reference to a right one stays right."""
    found = compare(orders("#W9", "#W2", "#W3"), orders("#W1", "#W2", "#W3"))
    assert found["argument_name_f1"] == 1
    assert found["argument_value_f1"] == pytest.approx(3 / 4)
    assert compare(orders("#W2", "#W1", source="t1"), orders("#W1", "#W2"))["argument_value_f1"] == 1


def test_a_reference_to_another_step_is_another_value() -> None:
    found = compare(orders("#W1", "#W2", source="t1"), orders("#W1", "#W2"))
    assert found["argument_value_f1"] == pytest.approx(2 / 3)
    assert found["edge_f1"] < 1


def test_a_wrong_source_leaves_its_dependents_comparable() -> None:
    found = compare(orders("#W1", "#W9"), orders("#W1", "#W2"))
    assert found["argument_value_f1"] == pytest.approx(2 / 3)


def test_an_order_that_is_turned_round_is_a_violation() -> None:
    gold = Plan((Step("pay"), Step("ship", after=("t1",)), Step("rate", after=("t2",)))).to_graph()
    assert compare(Plan((Step("ship"), Step("pay"), Step("rate"))).to_graph(), gold)["order_violations"] == 1
    assert compare(Plan((Step("pay"), Step("ship"), Step("rate"))).to_graph(), gold)["order_violations"] == 0
    assert compare(Plan((Step("rate"), Step("pay"))).to_graph(), gold)["order_violations"] == 0


def test_a_missing_call_costs_its_arguments() -> None:
    found = compare(orders("#W2", source="t1"), orders("#W1", "#W2"))
    assert found["argument_name_f1"] == pytest.approx(4 / 5)
    assert compare(Graph((Node("g", NodeType.GOAL, "x"),), ()), orders("#W1", "#W2"))["argument_name_f1"] == 0
