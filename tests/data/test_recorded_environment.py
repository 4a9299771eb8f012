"""An environment of recordings alone: what it answers, what it does not know, and how it scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording_factory import TOOLS, WRITING, Call, extend, give_back, loan, look, recorded

from data.environments.base import HasGold, HasState, Scores
from data.environments.recorded import RecordedEnvironment, Recording
from data.labels.record import label_trajectory
from data.labels.replay import ReachesGold
from graph_handoff.errors import InputError
from graph_handoff.execution import execute
from graph_handoff.graph import Graph
from graph_handoff.plan import Plan, Step

EXTEND, RETURN = extend("LN4471", 21), give_back("LN8812")


def made(calls: Iterable[Call], graph: Graph | None = None, communicate: tuple[str, ...] = ()) -> RecordedEnvironment:
    """At the beginning of the only recording."""
    trajectory = recorded(calls, communicate=communicate)
    environment = RecordedEnvironment({trajectory.id: Recording(trajectory, TOOLS, graph, WRITING)})
    environment.reset("t1")
    return environment


def ask(environment: RecordedEnvironment, call: Call) -> Any:
    return environment.call(call[0], call[1]).value


def parts(environment: RecordedEnvironment, *told: str) -> dict[str, float]:
    return environment.score("t1", told).parts


def test_it_has_a_score_and_a_state_and_no_gold_plans() -> None:
    environment = made([EXTEND])
    assert isinstance(environment, Scores)
    assert isinstance(environment, HasState)
    assert not isinstance(environment, HasGold)
    assert environment.is_write("extend_loan")
    assert not environment.is_write("get_loan")
    assert [schema["function"]["name"] for schema in environment.tools] == sorted(t["function"]["name"] for t in TOOLS)


def test_a_recorded_call_gets_its_answer_however_its_arguments_are_written() -> None:
    environment = made([EXTEND])
    found = environment.call("extend_loan", {"days": 21.0, "loan_id": "LN4471"})
    assert found.value == EXTEND[2]
    assert not (found.error or found.not_recorded)


def test_what_was_never_recorded_is_an_outcome_of_its_own() -> None:
    environment = made([look("LN4471"), EXTEND])
    found = environment.call("get_loan", {"loan_id": "LN9999"})
    assert (found.error, found.not_recorded) == (False, True)
    assert found.value == "not recorded: get_loan {'loan_id': 'LN9999'}"
    plan = Plan((Step("get_loan", {"loan_id": "LN9999"}), Step("extend_loan", {"loan_id": "LN4471", "days": 21})))
    assert [step.status for step in execute(plan, environment.call).steps] == ["not_recorded", "ok"]


def test_a_look_up_answers_by_the_writes_made_so_far() -> None:
    environment = made(
        [
            look("LN4471"),
            EXTEND,
            look("LN4471", days=21),
            give_back("LN4471", days=21),
            look("LN4471", days=21, status="returned"),
        ]
    )
    assert ask(environment, look("LN4471"))["days"] == 14
    ask(environment, EXTEND)
    assert ask(environment, look("LN4471")) == {"loan_id": "LN4471", "days": 21, "status": "out"}
    assert ask(environment, look("LN4471")) == {"loan_id": "LN4471", "days": 21, "status": "out"}
    ask(environment, give_back("LN4471"))
    assert ask(environment, look("LN4471"))["status"] == "returned"
    environment.reset("t1")
    ask(environment, give_back("LN4471"))
    assert ask(environment, look("LN4471"))["days"] == 14, "the other write has not been made"


def test_a_write_on_another_record_that_was_put_off_does_not_hide_what_was_written() -> None:
    environment = made([look("LN4471"), EXTEND, RETURN, look("LN4471", days=21)])
    ask(environment, EXTEND)
    assert ask(environment, look("LN4471"))["days"] == 21
    environment.reset("t1")
    ask(environment, RETURN)
    assert ask(environment, look("LN4471"))["days"] == 14


def test_a_look_up_that_was_recorded_only_after_a_write_is_answered_before_it() -> None:
    environment = made([RETURN, look("LN4471")])
    assert ask(environment, look("LN4471"))["days"] == 14


def test_a_refusal_is_answered_where_it_was_recorded_and_changes_nothing() -> None:
    no = ("return_loan", {"loan_id": "LN4471"}, "Error: extend it first")
    environment = made([no, EXTEND, give_back("LN4471", days=21)])
    for _ in range(2):
        assert environment.call(no[0], no[1]).error
    ask(environment, EXTEND)
    assert ask(environment, no)["status"] == "returned"
    assert parts(environment) == {"WRITES": 1, "ORDER": 1}


def test_a_write_is_made_as_often_as_it_was_recorded() -> None:
    environment = made([EXTEND, EXTEND])
    ask(environment, EXTEND)
    assert parts(environment)["WRITES"] == 0
    ask(environment, EXTEND)
    assert parts(environment)["WRITES"] == 1
    assert environment.call(EXTEND[0], EXTEND[1]).not_recorded
    score = environment.score("t1", ())
    assert score.parts["WRITES"] == 0
    assert score.detail.startswith("not recorded: 'extend_loan")


def test_the_score_says_what_is_missing_and_what_is_too_much() -> None:
    environment = made([EXTEND, RETURN])
    ask(environment, EXTEND)
    ask(environment, extend("LN4471", 99))
    score = environment.score("t1", ())
    assert (score.reward, score.parts) == (0.0, {"WRITES": 0.0, "ORDER": 1.0})
    assert "never made: 'return_loan" in score.detail
    assert 'not recorded: \'extend_loan {"days":99' in score.detail


def test_a_call_that_the_schemas_do_not_allow_is_refused_and_writes_nothing() -> None:
    environment = made([EXTEND])
    ask(environment, EXTEND)
    for name, arguments, why in (
        ("extend_loan", {"loan_id": "LN4471"}, "extend_loan: missing days"),
        ("burn_book", {}, "no such tool: burn_book"),
    ):
        found = environment.call(name, arguments)
        assert (found.error, found.not_recorded, found.value) == (True, False, why)
    assert environment.score("t1", ()).reward == 1


def test_look_ups_too_many_or_too_few_cost_nothing() -> None:
    environment = made([look("LN4471"), EXTEND])
    environment.call("get_member", {"member_id": "M1"})
    ask(environment, EXTEND)
    assert environment.score("t1", ()).reward == 1


def test_without_a_graph_the_recorded_order_counts_and_with_one_its_own() -> None:
    calls = [look("LN4471"), look("LN8812"), extend("LN4471", 21), give_back("LN4471", days=21)]
    graph = label_trajectory(recorded(calls)).graph
    for environment, wrong in ((made(calls), 0.0), (made(calls, graph), 0.0)):
        ask(environment, calls[3])
        ask(environment, calls[2])
        assert parts(environment) == {"WRITES": 1.0, "ORDER": wrong}
        assert "came before" in environment.score("t1", ()).detail
    free = [look("LN4471"), look("LN8812"), extend("LN4471", 21), give_back("LN8812")]
    environment = made(free, label_trajectory(recorded(free)).graph)
    ask(environment, free[3])
    ask(environment, free[2])
    assert environment.score("t1", ()).reward == 1


def test_what_two_records_share_does_not_order_them_unless_it_goes_from_one_to_the_other() -> None:
    def pay(loan_id: str, card: str) -> Call:
        return ("extend_loan", {"loan_id": loan_id, "card": card}, {"loan_id": loan_id, "card": card, "paid": True})

    def move(giver: str, taker: str) -> Call:
        return ("extend_loan", {"giver": giver, "taker": taker}, {"giver": giver, "taker": taker, "done": True})

    for calls, order in (
        ([pay("LN4471", "card_7712"), pay("LN8812", "card_7712")], 1.0),
        ([move("acc_1001", "acc_2002"), move("acc_2002", "acc_3003")], 0.0),
    ):
        environment = made(calls, label_trajectory(recorded(calls)).graph)
        for call in reversed(calls):
            ask(environment, call)
        assert parts(environment)["ORDER"] == order


def test_writes_on_different_fields_of_a_record_may_change_places_unless_one_changes_its_status() -> None:
    def note(text: str, **fields: Any) -> Call:
        return ("extend_loan", {"loan_id": "LN4471", "note": text}, loan("LN4471", **fields) | {"note": text})

    late = extend("LN4471", 21)
    for calls, order in (
        ([look("LN4471"), late, note("fragile", days=21)], 1.0),
        ([look("LN4471"), late, extend("LN4471", 28)], 0.0),
        ([look("LN4471"), late, give_back("LN4471", days=21)], 0.0),
        ([late, note("fragile", days=21)], 0.0),
    ):
        environment = made(calls, label_trajectory(recorded(calls)).graph)
        for call in reversed(calls):
            ask(environment, call)
        assert parts(environment) == {"WRITES": 1.0, "ORDER": order}


def test_what_the_record_wants_told_is_a_part_of_the_score() -> None:
    environment = made([EXTEND], communicate=("21 days",))
    ask(environment, EXTEND)
    assert parts(environment) == {"WRITES": 1, "ORDER": 1, "COMMUNICATE": 0}
    assert parts(environment, "You have 21 Days now.")["COMMUNICATE"] == 1
    assert "COMMUNICATE" not in parts(made([EXTEND]))


def test_a_users_own_calls_are_no_part_of_it() -> None:
    trajectory = recorded([EXTEND, RETURN])
    messages = list(trajectory.messages)
    call = messages[3].tool_calls[0].model_copy(update={"requestor": "user"})
    messages[3] = messages[3].model_copy(update={"tool_calls": (call,)})
    recording = Recording(trajectory.model_copy(update={"messages": tuple(messages)}), TOOLS, None, WRITING)
    assert [recording.calls[place].name for place in recording.writes] == ["extend_loan"]


def test_two_plans_can_be_compared_by_their_state() -> None:
    environment = made([look("LN4471"), EXTEND, RETURN])
    both = Plan((Step(EXTEND[0], EXTEND[1]), Step(RETURN[0], RETURN[1])))
    reaches = ReachesGold(environment)
    assert reaches(both, "t1", both)
    assert not reaches(Plan(both.steps[:1]), "t1", both)
    assert not reaches(Plan((*both.steps, Step("extend_loan", {"loan_id": "LN4471", "days": 1}))), "t1", both)


def test_forks_have_states_of_their_own_and_an_unknown_task_is_named() -> None:
    environment = made([EXTEND])
    other = environment.fork()
    with pytest.raises(InputError, match="no task has been begun"):
        other.call(EXTEND[0], EXTEND[1])
    other.reset("t1")
    ask(environment, EXTEND)
    assert environment.score("t1", ()).reward == 1
    assert other.score("t1", ()).reward == 0
    with pytest.raises(InputError, match="did you mean 't1'"):
        other.reset("t11")


CALLS = st.lists(
    st.sampled_from(
        [look("LN4471"), look("LN8812"), extend("LN4471", 21), extend("LN8812", 7), give_back("LN4471"), give_back("LN8812")]
    )
    | st.just(("return_loan", {"loan_id": "LN4471"}, "Error: already returned")),
    max_size=8,
)


@given(CALLS)
def test_the_recorded_calls_in_their_order_earn_the_whole_reward(calls: list[Call]) -> None:
    """Also where an answer is another one's refusal: a refusal never stands for a write that was made."""
    environment = made(calls)
    refused: set[str] = set()
    for tool, arguments, answer in calls:
        found = environment.call(tool, arguments)
        assert not found.not_recorded
        refused |= {tool} if isinstance(answer, str) else set()
    if not refused:
        assert environment.score("t1", ()).reward == 1


@given(CALLS, st.randoms(use_true_random=False))
def test_a_missing_write_never_passes(calls: list[Call], random: Any) -> None:
    environment = made(calls)
    refused = [call[:2] for call in calls if isinstance(call[2], str)]  # a refused call that is tried again is the same call
    writes = [n for n, call in enumerate(calls) if call[0] in WRITING and call[:2] not in refused]
    if not writes:
        return
    left_out = random.choice(writes)
    for tool, arguments, _ in (call for number, call in enumerate(calls) if number != left_out):
        environment.call(tool, arguments)
    assert environment.score("t1", ()).reward == 0
