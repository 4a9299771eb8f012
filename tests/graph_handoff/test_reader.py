"""The simple reader: what it finds, what it leaves, and that nothing harms it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from graph_strategies import TOOLS, graphs
from growth import growth
from hypothesis import given, settings
from hypothesis import strategies as st
from shop import EXCHANGE, SHOP

from graph_handoff.delegation import Toolset
from graph_handoff.graph import Graph, validate
from graph_handoff.protocols.prose.protocol import Prose
from graph_handoff.protocols.prose.reader import MAX_STEPS, MAX_TEXT, read_text


def read(text: str) -> list[tuple[str, dict[str, Any]]]:
    steps = read_text(text, SHOP).steps
    return [(s.name, {k: [str(i) for i in v] if isinstance(v, list) else v for k, v in s.arguments.items()}) for s in steps]


def first(text: str) -> dict[str, Any]:
    return {k: v if isinstance(v, (list, int)) else str(v) for k, v in read(text)[0][1].items()}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("get_order_details(order_id='#W1')", {"order_id": "#W1"}),
        ("Get order details of #W1234567, please.", {"order_id": "#W1234567"}),
        ("With order id #W1 as given, get the order details", {"order_id": "#W1"}),
        ('{"tool": "get_order_details", "order_id": "#W1"}', {"order_id": "#W1"}),
        ('"get_order_details" {"name":"order_id","value":"#W1"}', {"order_id": "#W1"}),
        ("find user id by email: mei@example.com.", {"email": "mei@example.com"}),
        ("cancel_pending_order order_id: #W1, reason: 'no longer needed'", {"order_id": "#W1", "reason": "no longer needed"}),
        (
            "exchange_order_items item_ids 11, 12 and 13 new_item_ids [14]",
            {"item_ids": ["11", "12", "13"], "new_item_ids": ["14"]},
        ),
        ("exchange order items; pay with gift_card_77", {"payment_method_id": "gift_card_77"}),
        ("Use ship: speed next day, count 3", {"speed": "next_day", "count": 3}),
        ("Use ship, count many", {}),
        ("get_order_details", {}),
    ],
)
def test_literals(text: str, arguments: dict[str, Any]) -> None:
    assert first(text) == arguments


@pytest.mark.parametrize(
    ("phrase", "reference"),
    [
        ("user_id from step 1", "t1"),
        ("the user id returned by find_user_id_by_email", "t1"),
        ("user_id: the first step's result, i.e. what the first step gave", "t1"),
        ("user_id = the owner of step 1", "t1.owner"),
        ("the customer number in step 1 as the user_id", "t1.customer_number"),
        ("user_id set to the id of the account whose name is Mei in the result of step 1", "t1.accounts[name=Mei].id"),
        ("user_id: the first of the users in step 1", "t1.users[0]"),
        ("user_id from step 7", None),
        ("user_id from step 2", None),
        ("user_id that we know", None),
    ],
)
def test_references(phrase: str, reference: str | None) -> None:
    _, (name, arguments) = read(f"Call find_user_id_by_email. Then call get_user_details with {phrase}.")
    assert name == "get_user_details"
    assert {k: str(v) for k, v in arguments.items()} == ({"user_id": reference} if reference else {})


def test_numbered_lines_are_steps_and_what_stands_before_them_is_not_read() -> None:
    text = "Get the order details.\n\n1. Think.\n2. get_user_details mei_k_1\n3. get_order_details: order_id from step 2"
    found = read(text)
    assert [name for name, _ in found] == ["get_user_details", "get_order_details"]
    assert str(found[1][1]["order_id"]) == "t1.order_id"


def test_each_call_owns_the_text_up_to_the_next() -> None:
    found = read("get_order_details order_id #W1\nget_order_details order_id #W2\ncancel_pending_order order_id #W3")
    assert [arguments["order_id"] for _, arguments in found] == ["#W1", "#W2", "#W3"]


def test_a_report_is_read() -> None:
    plan = read_text("get_order_details #W1234567. Tell the user the total from the first step, 54.04 and 'thank you'.", SHOP)
    assert plan.steps[1].is_action
    assert [str(v) for v in plan.steps[1].arguments["info"]] == ["t1.total", "thank you", "54.04"]


def test_guards_and_effects_are_left() -> None:
    plan = read_text(
        "1. get_order_details #W1234567\n2. cancel_pending_order #W1234567, only if the status from step 1 is ok", SHOP
    )
    assert plan.steps[1].guards == plan.steps[1].effects == ()


@pytest.mark.parametrize("seed", range(6))
def test_prose_is_read_as_far_as_the_procedure_goes(seed: int) -> None:
    from graph_handoff.delegation import Delegation

    text = Prose().text_of(Delegation("1", "", SHOP, EXCHANGE.to_graph()), seed)
    plan = read_text(text, SHOP)
    assert [s.name for s in plan.steps] == [s.name for s in EXCHANGE.steps]
    assert plan.steps[3].arguments == EXCHANGE.steps[3].arguments


@settings(max_examples=40, deadline=None)
@given(text=st.text(), tools=st.sampled_from([SHOP, TOOLS, Toolset()]))
def test_any_text_gives_a_valid_plan(text: str, tools: Toolset) -> None:
    validate(read_text(text, tools).to_graph())


PIECES = ["get_order_details", "order id", "as the item ids", "step 1", "1. ", "\n", ". ", ";", "'", '"', "#W1", "whose name is"]
PIECES += ["ship", "the", "first of the orders", "tell the user", "count 9", "-1e999", "A B", "item_ids [", "]", "from", "is"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(["", " "]))
def test_any_heap_of_likely_words_gives_a_valid_plan(pieces: list[str], space: str) -> None:
    validate(read_text(space.join(pieces), SHOP).to_graph())


@settings(max_examples=10, deadline=None)
@given(graphs())
def test_the_json_of_any_graph_is_read_as_text(graph: Graph) -> None:
    validate(read_text(graph.dumps(), TOOLS).to_graph())


@pytest.mark.parametrize(
    "unit", ["get_order_details order id #W1 ", "a;", "\n", "as the item ids ", "step 1 ", "1. ship\n", "the ", "'a"]
)
def test_time_grows_no_faster_than_the_text(unit: str) -> None:
    def text(characters: int) -> str:
        return "1. get_order_details\n2. exchange_order_items " + unit * (characters // len(unit))

    assert growth(lambda given: read_text(given, SHOP), text) < 9
    assert len(read_text(text(100_000), SHOP).steps) <= MAX_STEPS


def test_a_text_is_read_up_to_a_limit() -> None:
    assert read("x " * (MAX_TEXT // 2) + "get_order_details") == []


@pytest.mark.real_data
def test_real_delegations_name_none_of_the_shops_tools(shared_data: Path) -> None:
    with gzip.open(shared_data / "handoffs" / "who_and_when_handcrafted_20.json.gz") as stream:
        records = json.load(stream)
    messages = [m["content"] for r in records for m in r["history"] if m["role"].startswith("Orchestrator (->")]
    assert len(messages) == 260
    for message in messages:
        assert all(step.is_action or step.name == "list_all_products" for step in read_text(message, SHOP).steps)
