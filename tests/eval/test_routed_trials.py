"""Trials of Routed NGH: each delegation is executed as the format that was chosen for it, and the choice is paid for."""

from __future__ import annotations

from typing import Any

import pytest
from toy_benchmark import delegation, trial

from eval.trial import Route
from graph_handoff.errors import HandoffError
from graph_handoff.protocols import load_protocol
from graph_handoff.protocols.routed import Routed
from graph_handoff.routing.llm import LLMRouter
from graph_handoff.tokens import count_tokens


@pytest.mark.parametrize(("router", "inner", "format"), [("always-graph", "compact", "graph"), ("always-nl", "nl", "nl")])
def test_a_routed_trial_is_that_of_the_chosen_format(router: str, inner: str, format: str) -> None:
    plain, routed = trial(load_protocol(inner)), trial(Routed(router, graph="compact"))
    assert (routed.handoff, routed.form) == (plain.handoff, inner)
    assert (routed.reward, routed.failure, routed.report) == (plain.reward, plain.failure, plain.report)
    assert routed.steps == plain.steps
    assert routed.graph_metrics == plain.graph_metrics
    assert routed.route is not None
    assert (routed.route.router, routed.route.format) == (router, format)
    assert plain.route is None
    assert routed.pattern == plain.pattern == "simple"  # the task's own, whoever routed


def test_only_a_graph_pays_for_instructions_and_the_choice_costs_no_token() -> None:
    graph, prose = trial(Routed("always-graph")), trial(Routed("always-nl"))
    assert graph.tokens.instructions == trial(load_protocol("ngh")).tokens.instructions > 0
    assert prose.tokens.instructions == 0
    assert graph.tokens.wire == graph.tokens.read == count_tokens(graph.handoff) == trial(load_protocol("ngh")).tokens.wire
    assert graph.tokens.overhead == prose.tokens.overhead == 0


@pytest.mark.parametrize(("answer", "format"), [("GRAPH", "graph"), ("NL", "nl"), ("perhaps", "nl")])
def test_a_models_decision_is_paid_for_and_recorded(answer: str, format: str) -> None:
    router = LLMRouter(lambda system, user, **options: answer)
    decision = router.route(delegation())
    done = trial(Routed("llm", {"complete": router.complete}))
    assert done.tokens.overhead == decision.tokens > count_tokens(answer)
    assert done.tokens.total == done.tokens.read + done.tokens.instructions + decision.tokens
    assert done.route == Route(router="llm", format=format, score=float(format == "graph"), reason=decision.reason)  # type: ignore[arg-type]
    assert done.form == ("ngh" if format == "graph" else "nl")


def test_a_model_that_cannot_be_asked_costs_nothing_and_is_recorded() -> None:
    def nobody(system: str, user: str, **options: object) -> str:
        raise ConnectionError("nobody there")

    done = trial(Routed("llm", {"complete": nobody}))
    assert done.route is not None
    assert (done.route.failed, done.route.format, done.tokens.overhead) == (True, "nl", 0)
    assert "ConnectionError" in done.route.reason


def test_a_router_that_raises_is_a_failed_trial() -> None:
    protocol: Any = Routed()

    class Broken:
        name = "broken"

        def route(self, delegation: object) -> object:
            raise HandoffError("no model")

    protocol.router = Broken()
    done = trial(protocol)
    assert (done.reward, done.failure) == (0.0, "protocol_error")
    assert "no model" in done.detail
