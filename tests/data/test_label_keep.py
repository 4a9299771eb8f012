"""Keep-labels: what is kept reads no worse than the whole text, and is much shorter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data.labels.keep import KeepLabeller, _said, keyword_labels
from graph_handoff.delegation import Delegation, Tool, Toolset
from graph_handoff.plan import Guard, Plan, Step
from graph_handoff.protocols.prose.protocol import Prose
from graph_handoff.protocols.prose.reader import read_text
from graph_handoff.reference import parse_reference as ref
from graph_handoff.spans import join_spans, split_spans


def _tool(name: str, *parameters: str) -> Tool:
    return Tool(name, "", {"properties": {parameter: {"type": "string"} for parameter in parameters}})


TOOLS = Toolset([_tool("find_user", "email"), _tool("get_order", "order_id"), _tool("cancel_order", "order_id", "reason")])
PLAN = Plan(
    (
        Step("find_user", {"email": "mei.k@example.com"}),
        Step("get_order", {"order_id": "#W6390527"}),
        Step(
            "cancel_order",
            {"order_id": ref("t2.order_id"), "reason": "ordered by mistake"},
            (Guard(ref("t2.status"), "pending"),),
        ),
    )
)
TASK = "You are Mei. You want to get rid of the lamp, because your cat does not like it. You are in a hurry."


def prose(seed: int, plan: Plan = PLAN) -> str:
    return Prose().encode(Delegation("x", TASK, TOOLS, plan.to_graph()), seed)


def shorten(text: str, kept: list[bool]) -> str:
    return join_spans(text, [span for span, keep in zip(split_spans(text), kept, strict=True) if keep])


def agreement(text: str) -> int:
    found = _said(read_text(text, TOOLS))
    return 2 * (found & _said(PLAN)).total() - found.total()


@pytest.mark.parametrize("seed", range(12))
def test_what_is_kept_reads_no_worse_and_is_shorter(seed: int) -> None:
    text = prose(seed)
    short = shorten(text, KeepLabeller().label(text, PLAN, TOOLS))
    assert agreement(short) >= agreement(text)
    assert len(short) < 0.6 * len(text)
    assert "cat" not in short
    for needed in ("mei.k@example.com", "#W6390527", "ordered by mistake"):
        assert needed in short


@pytest.mark.parametrize("seed", range(12))
def test_a_condition_stays_although_the_reader_does_not_read_it(seed: int) -> None:
    text = prose(seed)
    short = shorten(text, KeepLabeller().label(text, PLAN, TOOLS))
    assert "status" in short
    assert "pending" in short
    plan = Plan((*PLAN.steps[:2], replace(PLAN.steps[2], guards=())))
    assert "pending" not in shorten(text, KeepLabeller().label(text, plan, TOOLS))


def test_the_same_words_with_other_values_are_labelled_alike() -> None:
    labeller = KeepLabeller()
    text = prose(1)
    first = labeller.label(text, PLAN, TOOLS)
    other = text.replace("mei.k@example.com", "li@example.com").replace("#W6390527", "#W1")
    plan = Plan((Step("find_user", {"email": "li@example.com"}), Step("get_order", {"order_id": "#W1"}), PLAN.steps[2]))
    assert labeller.label(other, plan, TOOLS) == first


def test_the_labels_of_a_sequence_of_texts_can_be_made_again() -> None:
    def labels() -> list[list[bool]]:
        labeller = KeepLabeller()
        return [labeller.label(prose(seed), PLAN, TOOLS) for seed in range(6)]

    assert labels() == labels()


def test_labels_without_the_graph_take_the_rarest_words() -> None:
    idf = {"the": 1.0, "order": 2.0, "#W6390527": 5.0, "cancel": 3.0}
    assert keyword_labels("Cancel the order #W6390527.", idf, 4.0, 0.4) == [True, False, False, True, False]
    assert keyword_labels("the the new order", idf, 4.0, 0.5) == [False, False, True, True]
    assert keyword_labels("", idf, 4.0, 0.5) == []
