"""The scripted executor: what arrives is executed, and every way to fail has its name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from toy_benchmark import PLAN, ToyEnvironment, trial

from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.errors import CodecError, HandoffError, UnfaithfulError
from graph_handoff.plan import Plan, Step
from graph_handoff.protocols import load_protocol
from graph_handoff.protocols.base import Protocol, Reading, Written
from graph_handoff.reference import Reference
from graph_handoff.tokens import count_tokens


class Sends(Protocol):
    """A protocol whose receiver reads a plan of our choice."""

    name = "sends"
    title = short = meaning = "sends"

    def __init__(self, plan: Plan, text: str = "text") -> None:
        self.plan, self.text = plan, text

    def instructions(self, tools: Toolset) -> str:
        return "read it"

    def write(self, delegation: Delegation, seed: int) -> Written:
        return Written(self.text)

    def read(self, text: str, form: str, tools: Toolset) -> Reading:
        return Reading(text, self.plan, self.plan.to_graph())


def with_step(number: int, step: Step | None) -> Plan:
    steps = list(PLAN.steps)
    steps[number : number + 1] = [step] if step else []
    return Plan(tuple(steps))


@pytest.mark.parametrize("name", ["ngh", "compact"])
def test_a_lossless_format_earns_the_whole_reward(name: str) -> None:
    done = trial(load_protocol(name))
    assert (done.reward, done.failure) == (1.0, None)
    assert done.report == ("done", "12.5")
    assert done.steps[2].arguments == {"order_id": "W1", "reason": "no longer needed"}
    assert done.graph_metrics["validity"] == done.graph_metrics["node_f1"] == done.graph_metrics["edge_f1"] == 1.0
    assert done.tokens.wire == count_tokens(done.handoff) == done.tokens.read
    assert done.tokens.total == done.tokens.read + done.tokens.instructions


CANCEL = PLAN.steps[2]
FAILURES = {
    "unresolved_reference": with_step(1, replace(PLAN.steps[1], arguments={"order_id": Reference("t1", ("order",))})),
    "guard_failed": with_step(2, replace(CANCEL, guards=(replace(CANCEL.guards[0], equals="open"),))),
    "tool_error": with_step(2, replace(CANCEL, arguments={"order_id": "W2", "reason": "no longer needed"}, guards=())),
    "missing_call": Plan(PLAN.steps[:2]),
    "wrong_argument": with_step(2, replace(CANCEL, arguments={**CANCEL.arguments, "reason": "by mistake"})),
    "wrong_report": with_step(3, replace(PLAN.steps[3], arguments={"info": ["done"]})),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_has_a_name_and_a_sentence(kind: str) -> None:
    done = trial(Sends(FAILURES[kind]))
    assert (done.reward, done.failure) == (0.0, kind)
    assert done.detail


def test_reversed_order_fails_because_what_it_needs_is_not_there_yet() -> None:
    steps = [Step(s.name, s.arguments) for s in PLAN.steps[:3]][::-1]
    turned = [replace(s, arguments={k: "W1" if isinstance(v, Reference) else v for k, v in s.arguments.items()}) for s in steps]
    done = trial(Sends(Plan((*turned, PLAN.steps[3]))))
    assert done.reward == 0.0
    assert done.failure in ("unresolved_reference", "wrong_order", "missing_call")


class Raises(Sends):
    def __init__(self, where: str, error: HandoffError) -> None:
        super().__init__(PLAN)
        self.where, self.error = where, error

    def write(self, delegation: Delegation, seed: int) -> Written:
        if self.where == "encode":
            raise self.error
        return Written("text")

    def read(self, text: str, form: str, tools: Toolset) -> Reading:
        raise self.error


def test_what_a_protocol_raises_is_recorded_and_counts_as_invalid() -> None:
    assert trial(Raises("encode", HandoffError("no"))).failure == "protocol_error"
    unreadable = trial(Raises("decode", CodecError("no")))
    assert unreadable.failure == "unreadable_handoff"
    assert unreadable.graph_metrics["validity"] == unreadable.graph_metrics["node_f1"] == 0.0
    assert unreadable.tokens.wire == count_tokens("text")
    for place in ("encode", "decode"):
        assert trial(Raises(place, UnfaithfulError("no"))).failure == "unfaithful"


def test_a_broken_environment_is_recorded() -> None:
    done = trial(load_protocol("compact"), ToyEnvironment(breaks=True))
    assert (done.failure, done.reward) == ("environment_error", 0.0)


def test_an_invented_identifier_is_refused() -> None:
    plan = with_step(0, Step("get_user", {"email": "someone.else@example.com"}))

    class Invents(Sends):
        def read(self, text: str, form: str, tools: Toolset) -> Reading:
            return Reading("get_user someone.else@example.com", plan, plan.to_graph())

    done = trial(Invents(plan))
    assert (done.failure, done.reward) == ("unfaithful", 0.0)
    assert "someone.else@example.com" in done.detail
