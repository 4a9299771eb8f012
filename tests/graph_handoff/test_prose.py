"""The prose baseline says what the plan says, in English, the same for the same seed."""

from __future__ import annotations

import re

import pytest
from graph_strategies import TOOLS, plans
from hypothesis import given, settings
from hypothesis import strategies as st
from shop import EXCHANGE, SHOP

from graph_handoff.delegation import Delegation
from graph_handoff.fact_recall import recall
from graph_handoff.plan import Guard, Plan, Step
from graph_handoff.protocols import load_protocol
from graph_handoff.protocols.prose.protocol import MAX_REQUEST_WORDS, Prose, brief, describe, name_in_words
from graph_handoff.protocols.prose.wording import Wording, listed, ordinal, scalar, singular
from graph_handoff.reference import parse_reference

TASK = "You want to exchange your lamp and your vase. If that fails, you cancel.\n\nYou are Mei."
WORDS = Wording(plain_keys=True, steps_by_ordinal=False, origin="returned by")


def written(seed: int, plan: Plan = EXCHANGE, task: str = TASK) -> str:
    return Prose().text_of(Delegation("retail-1", task, SHOP, plan.to_graph()), seed)


def test_the_same_seed_gives_the_same_text_and_others_give_others() -> None:
    assert [written(seed) for seed in range(5)] == [written(seed) for seed in range(5)]
    assert len({written(seed) for seed in range(40)}) > 20


def test_the_orchestrators_own_words_come_first() -> None:
    delegation = Delegation("1", TASK, SHOP, EXCHANGE.to_graph(), prose="Just do it.")
    assert Prose().text_of(delegation, 3) == "Just do it."


@pytest.mark.parametrize("seed", range(12))
def test_every_phrasing_says_it_all(seed: int) -> None:
    text = written(seed)
    assert text.count("You want to exchange your lamp and your vase. If that fails, you cancel.") == 1
    assert "You are Mei" not in text
    found = recall(EXCHANGE, text, SHOP)
    assert (found.tools, found.values, found.order) == (1, 1, 1)
    for part in ("delivered", "exchange requested", "paypal", "whose name is", "first of the orders", "54.04"):
        assert part in text, part
    assert re.search(r"must come after (step 4|the fourth step)", text)
    assert re.search(r"[Tt]ell the user the total (returned by|from) (step 3|the third step) and 54.04\.", text)
    assert not re.search(r"\b(a [aeiou]|the the|an? the)\b|\S  |\.\.|\{|\}|None|Reference|\$", text)


def test_a_numbered_phrasing_reads_as_it_should() -> None:
    texts = [written(seed) for seed in range(400)]
    wanted = (
        "4. Call `exchange_order_items` with the order id #W6390527, the new item id 1008292230 and the id of the payment method "
        "whose source is paypal in the result of step 2 as the payment method id. For the item ids, pass the item id of the item "
        'whose name is "Desk Lamp" in the result of step 3 and the item id of the item whose name is Vase in the result of '
        'step 3. Do this only if the status from step 3 is delivered. Afterwards, the status should be "exchange requested".'
    )
    assert any(wanted in text for text in texts)
    assert any("First, find the user id by email with the email mei@example.com." in text for text in texts)
    assert any("1. Find user id by email with the email mei@example.com." in text for text in texts)


@settings(max_examples=20, deadline=None)
@given(plan=plans(), seed=st.integers(0, 30))
def test_any_plan_can_be_said_with_every_value_spelled_out(plan: Plan, seed: int) -> None:
    delegation = Delegation("x", "", TOOLS, plan.to_graph())
    text = Prose().text_of(delegation, seed)
    assert recall(plan, text, TOOLS).values == 1
    reading = Prose().decode(text, TOOLS)
    assert reading.text == text and reading.graph is None


def test_an_empty_plan_rules_and_a_goal_are_said() -> None:
    text = written(0, Plan((), "keep calm", ("ask first", "be kind")))
    assert "No tool needs to be called." in text and "keep calm" in text and "- ask first\n- be kind" in text
    assert "to carry out" not in written(1, task="")


def test_the_request_is_the_first_paragraph_in_whole_sentences() -> None:
    assert brief("One two. Three!\nFour\n\nFive") == "One two. Three! Four"
    long = " ".join(f"{'word ' * 40}number {n}." for n in range(9))
    assert len(brief(long).split()) <= MAX_REQUEST_WORDS and brief(long).endswith(".")
    assert brief("word " * 500).count("word") == 500


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("t1", "the result of step 1"),
        ("t1.user_id", "the user id returned by step 1"),
        ("t1.address.city", "the city of the address in the result of step 1"),
        ("t1.orders[2]", "the third of the orders in the result of step 1"),
        ("t1[0]", "the first entry returned by step 1"),
        ("t1[name=A].id", "the id of the entry whose name is A in the result of step 1"),
        ("t1.variants.7706410293.price", "the price of the entry 7706410293 of the variants in the result of step 1"),
        (
            "t1.variants[options.color=red,options.size=big one,available=true].item_id",
            'the item id of the variant whose available is true and whose options include color red and size "big one" '
            "in the result of step 1",
        ),
    ],
)
def test_references_in_words(path: str, words: str) -> None:
    assert WORDS.reference(parse_reference(path)) == words


def test_small_words() -> None:
    assert [ordinal(n) for n in (1, 12, 13, 21, 22, 111)] == ["first", "twelfth", "13th", "21st", "22nd", "111th"]
    assert [singular(w) for w in ("items", "entries", "addresses", "status", "address", "item ids")] == [
        "item", "entry", "address", "status", "address", "item id",
    ]  # fmt: skip
    assert listed([]) == "" and listed(["a"]) == "a" and listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a and b", "c"]) == "a and b; and c"
    assert [scalar(v) for v in ("Vase", "Desk Lamp", "", "a.", 1.5, None)] == ["Vase", '"Desk Lamp"', '""', '"a."', "1.5", "null"]
    assert WORDS.guard(Guard(parse_reference("t1.status"), "on its way")) == 'the status returned by step 1 is "on its way"'
    assert WORDS.argument("note", "") == "an empty note" and WORDS.argument("tags", []) == "an empty list of tags"
    assert WORDS.argument("full", True) == "the full set to true"
    assert WORDS.argument("legs", [{"from": "A"}, {"from": "B"}]) == "the legs: one with from A and one with from B"


def test_names_and_descriptions_become_commands() -> None:
    assert name_in_words("cancel_pending_order") == "cancel the pending order"
    assert name_in_words("find_user_by_name_zip") == "find the user by name and zip"
    assert name_in_words("transfer_to_human_agents") == "transfer to human agents" and name_in_words("think") == "think"
    assert describe("disable_roaming", "Disables roaming on a line. Careful!") == "disable roaming on a line"
    assert describe("get_user", "Get a user, and more.") == describe("get_user", "A user.") == describe("get", "") == ""


def test_the_protocol_is_in_the_table() -> None:
    protocol = load_protocol("nl")
    assert protocol.name == "nl" and protocol.instructions(SHOP) == ""
    step = Step("ship", {"speed": "fast", "count": 2})
    assert "Ship" in written(0, Plan((step,))) or "ship" in written(0, Plan((step,)))
