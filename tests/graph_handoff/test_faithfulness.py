"""No identifier comes from nowhere."""

from __future__ import annotations

import pytest
from graph_strategies import TOOLS, plans
from hypothesis import given, settings
from hypothesis import strategies as st
from shop import EXCHANGE, SHOP

from graph_handoff.codec import CODECS, load_codec
from graph_handoff.delegation import Delegation
from graph_handoff.faithfulness import unfaithful
from graph_handoff.identifiers import find_identifiers
from graph_handoff.plan import Plan
from graph_handoff.protocols.prose.protocol import Prose

SOURCES = ("Order #W6390527 of mei@example.com", "HAT001-HAT002 on 2024-05-20, for 1,286.50")
MADE = ["#W6390528", "W6390527", "6390527", "2024-05-21", "286.50", "mei@example.co", "Mei@example.com", "HAT00"]


def test_what_the_sources_hold_is_faithful() -> None:
    assert unfaithful("mei@example.com: #W6390527, 2024-05-20, HAT002, 1,286.50", SOURCES) == []


@pytest.mark.parametrize(
    "made", ["#W6390528", "W6390527", "6390527", "2024-05-21", "286.50", "mei@example.co", "Mei@example.com"]
)
def test_what_they_do_not_hold_is_found(made: str) -> None:
    assert unfaithful(f"#W6390527, then {made}, and {made}.", SOURCES) == [made]


def test_what_formats_number_themselves_is_not_checked() -> None:
    assert unfaithful("1. $12.orders[0] t3 a41 <2", ()) == []
    assert unfaithful("100 b3 T3", ()) == ["100", "b3", "T3"]


@pytest.mark.parametrize("seed", range(4))
def test_prose_is_faithful_to_its_plan(seed: int) -> None:
    graph = EXCHANGE.to_graph()
    text = Prose().text_of(Delegation("x", "", SHOP, graph), seed)
    assert unfaithful(text, [graph.dumps(), *SHOP]) == []


@settings(max_examples=12, deadline=None)
@given(plan=plans(), name=st.sampled_from(sorted(CODECS)))
def test_a_text_is_faithful_to_itself(plan: Plan, name: str) -> None:
    text = load_codec(name).encode(plan.to_graph(), TOOLS)
    assert unfaithful(text, [text]) == []


@settings(deadline=None)
@given(st.text(), st.text())
def test_a_find_is_an_identifier_of_the_text_that_stands_in_no_source(text: str, source: str) -> None:
    for found in unfaithful(text, [source]):
        assert found in find_identifiers(text) and found not in find_identifiers(source)
