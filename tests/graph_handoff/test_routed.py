"""Routed NGH: what crosses says which format it is, and only a graph brings instructions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shop import EXCHANGE, SHOP

from graph_handoff.delegation import Delegation
from graph_handoff.errors import ConfigError
from graph_handoff.protocols import Routing, load_protocol
from graph_handoff.protocols.routed import MARK, Routed
from graph_handoff.routing import Decision

DELEGATION = Delegation("one", "Exchange the lamp of order #W6390527, then cancel the other order.", SHOP, EXCHANGE.to_graph())


@pytest.mark.parametrize("graph", ["ngh", "compact"])
def test_a_graph_crosses_marked_and_arrives_whole(graph: str) -> None:
    protocol = load_protocol("routed", router="always-graph", graph=graph)
    plain = load_protocol(graph)
    text = protocol.encode(DELEGATION, 0)
    assert text == MARK + plain.encode(DELEGATION, 0)
    reading = protocol.decode(text, SHOP)
    assert reading.graph is not None
    assert reading.graph.same_as(DELEGATION.graph)
    assert reading.text == text
    assert isinstance(protocol, Routing)
    assert protocol.instructions_for(text, SHOP) == plain.instructions(SHOP) != ""


def test_prose_crosses_as_it_is_and_needs_no_instructions() -> None:
    protocol = Routed(router="always-nl")
    text = protocol.encode(DELEGATION, 0)
    assert text == load_protocol("nl").encode(DELEGATION, 0)
    assert protocol.decode(text, SHOP).graph is None
    assert protocol.instructions_for(text, SHOP) == ""


@given(st.text(alphabet="@\n a", max_size=8))
def test_prose_is_never_taken_for_a_graph(prose: str) -> None:
    protocol = Routed(router="always-nl")
    text = protocol.encode(replace(DELEGATION, prose=prose), 0)
    assert not text.startswith(MARK)
    reading = protocol.decode(text, SHOP)
    assert reading.graph is None
    assert reading.text in (prose, text)
    assert protocol.prose.decode(prose, SHOP).plan == reading.plan


def test_the_router_is_asked_once_for_all_seeds_of_a_delegation() -> None:
    class Counting:
        name = "counting"
        asked = 0

        def route(self, delegation: Delegation) -> Decision:
            self.asked += 1
            return Decision("nl", 0.2, "because", self.name, tokens=7)

    protocol = Routed()
    protocol.router = router = Counting()  # type: ignore[assignment]
    for seed in range(3):
        protocol.encode(DELEGATION, seed)
        assert protocol.decide(DELEGATION).tokens == 7
    assert router.asked == 1
    protocol.decide(replace(DELEGATION))
    assert router.asked == 2


@pytest.mark.parametrize("options", [{"graph": "routed"}, {"prose": "routed"}, {"router": "nobody"}])
def test_what_cannot_be_routed_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        load_protocol("routed", **options)
