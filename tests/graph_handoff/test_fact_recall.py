"""Fact recall counts what survives, in any format."""

from __future__ import annotations

import pytest
from graph_strategies import TOOLS, plans
from hypothesis import given, settings
from hypothesis import strategies as st
from shop import EXCHANGE, SHOP

from graph_handoff.codec import CODECS, load_codec
from graph_handoff.fact_recall import FactRecall, facts, recall
from graph_handoff.plan import REPORT, Plan, Step
from graph_handoff.reference import parse_reference

LOOKUPS = Plan(
    (
        Step("get_order_details", {"order_id": "#W1"}),
        Step("get_order_details", {"order_id": "#W12"}),
        Step("cancel_pending_order", {"order_id": "#W12", "reason": parse_reference("t2.why[kind=odd one].text")}, after=("t1",)),
    )
)


def test_the_facts_of_a_plan() -> None:
    found = facts(LOOKUPS)
    assert found.tools == {"get_order_details": 2, "cancel_pending_order": 1}
    assert found.values == {"#W1": 1, "#W12": 2, "odd one": 1}
    cancel = ("cancel_pending_order", 0)
    assert set(found.order) == {(("get_order_details", 0), cancel), (("get_order_details", 1), cancel)}


def test_an_action_counts_for_its_values_alone() -> None:
    found = facts(
        Plan((Step("get_user", {"full": True}), Step(REPORT, {"info": [parse_reference("t1"), 54.04, ""]}, is_action=True)))
    )
    assert (found.tools, found.values, found.order) == ({"get_user": 1}, {"true": 1, "54.04": 1}, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("get_order_details #W1, get_order_details #W12, cancel #W12 odd one", (2 / 3, 1, 0)),
        ("get_order_details #W1; get_order_details #W12; cancel_pending_order #W12 odd one", (1, 1, 1)),
        ("cancel_pending_order; get_order_details; get_order_details", (1, 0, 0)),
        ("get_order_details cancel_pending_order get_order_details", (1, 0, 1 / 2)),
        ("#W1 #W123 W12 odd", (0, 1 / 4, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_shares(text: str, expected: tuple[float, float, float]) -> None:
    assert recall(LOOKUPS, text, SHOP) == FactRecall(*map(pytest.approx, expected))


def test_a_value_within_another_does_not_count() -> None:
    plan = Plan((Step("ship", {"count": 54, "speed": "fast"}),))
    for text in ("54.04", "2024-54_1 x54 541", "#54", "1,54", "breakfast faster"):
        assert recall(plan, text, SHOP).values == 0, text
    assert recall(plan, "54, fast.", SHOP).values == 1


def test_a_goal_that_names_the_last_tool_first_does_not_turn_the_order_round() -> None:
    text = "cancel pending order\n1. get_order_details\n2. get_order_details\n3. cancel_pending_order"
    assert recall(LOOKUPS, text, SHOP).order == 1


def test_nothing_to_recall_is_all_recalled() -> None:
    assert recall(Plan(()), "", SHOP) == FactRecall(1, 1, 1)


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("plan", [EXCHANGE, LOOKUPS], ids=["exchange", "lookups"])
def test_a_lossless_codec_keeps_all_facts(name: str, plan: Plan) -> None:
    assert recall(plan, load_codec(name).encode(plan.to_graph(), SHOP), SHOP) == FactRecall(1, 1, 1)


@settings(max_examples=15, deadline=None)
@given(plan=plans(), name=st.sampled_from(sorted(CODECS)), cut=st.floats(0, 1))
def test_shares_lie_in_range_whatever_is_left_of_a_text(plan: Plan, name: str, cut: float) -> None:
    text = load_codec(name).encode(plan.to_graph(), TOOLS)
    found = recall(plan, text[: int(cut * len(text))], TOOLS)
    assert all(0 <= share <= 1 for share in (found.tools, found.values, found.order))
    if name == "json":
        known = all(step.is_action or step.name in TOOLS for step in plan.steps)
        assert recall(plan, text, TOOLS).tools == 1 or not known
