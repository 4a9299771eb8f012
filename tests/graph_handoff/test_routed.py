"""Routed NGH: what crosses says which format it is, and only a graph brings instructions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shop import EXCHANGE, SHOP

from graph_handoff.delegation import Delegation
from graph_handoff.errors import ConfigError
from graph_handoff.protocols import Routing, load_protocol
from graph_handoff.protocols.routed import Routed
from graph_handoff.routing import Decision

DELEGATION = Delegation("one", "Exchange the lamp of order #W6390527, then cancel the other order.", SHOP, EXCHANGE.to_graph())


class Counting:
    """Sends everything as prose and counts how often it is asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0

    def route(self, delegation: Delegation) -> Decision:
        self.asked += 1
        return Decision("nl", 0.2, "because", self.name, tokens=7)


@pytest.mark.parametrize("graph", ["ngh", "compact"])
def test_a_graph_crosses_and_the_handoff_says_so(graph: str) -> None:
    protocol = load_protocol("routed", router="always-graph", graph=graph)
    plain = load_protocol(graph)
    sent = protocol.encode(DELEGATION, 0)
    assert (sent.text, sent.form) == (plain.encode(DELEGATION, 0).text, graph)
    assert sent.decision is not None and sent.decision.format == "graph"
    for received in (sent, sent.to_text()):
        reading = protocol.decode(received, SHOP)
        assert reading.graph is not None
        assert reading.graph.same_as(DELEGATION.graph)
        assert reading.text == sent.text
    assert isinstance(protocol, Routing)
    assert protocol.instructions_for(sent, SHOP) == plain.instructions(SHOP) != ""


def test_prose_crosses_as_it_is_and_needs_no_instructions() -> None:
    protocol = Routed(router="always-nl")
    sent = protocol.encode(DELEGATION, 0)
    assert (sent.text, sent.form) == (load_protocol("nl").encode(DELEGATION, 0).text, "nl")
    assert protocol.decode(sent, SHOP).graph is None
    assert protocol.instructions_for(sent, SHOP) == ""


@given(st.text(alphabet="@=/\n anlgh", max_size=16))
def test_prose_is_never_taken_for_a_graph(prose: str) -> None:
    protocol = Routed(router="always-nl")
    sent = protocol.encode(replace(DELEGATION, prose=prose), 0)
    for received in (sent, sent.to_text()):
        reading = protocol.decode(received, SHOP)
        assert reading.graph is None
        assert reading.text == prose


def test_the_router_is_asked_once_a_call_and_never_for_a_decision_that_is_given() -> None:
    protocol = Routed()
    protocol.router = router = Counting()  # type: ignore[assignment]
    sent = protocol.encode(DELEGATION, 0)
    assert (router.asked, sent.decision and sent.decision.tokens) == (1, 7)
    decision = protocol.decide(DELEGATION)
    for seed in range(3):
        assert protocol.encode(DELEGATION, seed, decision).decision is decision
    assert router.asked == 2


def test_many_threads_share_a_routed_protocol() -> None:
    protocol = Routed(graph="compact")
    others = [replace(DELEGATION, id=str(number), task=f"{DELEGATION.task} {number}") for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(protocol.encode, others))
    assert [sent.text for sent in found] == [protocol.encode(other).text for other in others]


@pytest.mark.parametrize("options", [{"graph": "routed"}, {"prose": "routed"}, {"router": "nobody"}])
def test_what_cannot_be_routed_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        load_protocol("routed", **options)
