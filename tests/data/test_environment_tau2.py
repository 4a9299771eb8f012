"""tau2 behind the interface: the package's own answers, states put back exactly, copies that do not disturb each other."""

from __future__ import annotations

import gzip
import json
import operator
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.environments import load_environment
from data.environments.base import CallResult, EnvironmentCallError, EnvTask
from data.environments.gold import replay, replay_gold
from data.environments.tau2 import Tau2Environment, import_package
from data.trajectory import ToolCall, closure_problem, read_trajectories
from graph_handoff.errors import InputError
from graph_handoff.files import write_jsonl

pytestmark = pytest.mark.skipif(find_spec("tau2") is None, reason="the tau2 benchmark is not installed (make setup)")

TABLES = ("retail", "airline")
SIZES = {"retail": (74, 40), "airline": (30, 20), "telecom": (74, 40)}


def environment(domain: str) -> Tau2Environment:
    loaded = load_environment(f"tau2-{domain}")
    assert isinstance(loaded, Tau2Environment)
    return loaded


@cache
def gold_calls(domain: str) -> list[ToolCall]:
    return [call for task in environment(domain).tasks() for call in task.gold]


def package_environment(domain: str) -> Any:
    return import_package(f"domains.{domain}.environment").get_environment()


def package_answer(package: Any, name: str, arguments: dict[str, Any], requestor: str = "assistant") -> tuple[str, bool]:
    call = import_package("data_model.message").ToolCall(name=name, arguments=arguments, requestor=requestor)
    answer = package.get_response(call)
    return answer.content, answer.error


def answer(result: CallResult) -> tuple[str, bool]:
    return result.content, result.error


def play(target: Tau2Environment, task: EnvTask) -> list[CallResult]:
    return [target.call(call.name, call.arguments, call.requestor) for call in task.gold]


# --- what it offers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", SIZES)
def test_tasks_tools_and_policy(domain: str) -> None:
    target = environment(domain)
    tasks = target.tasks()
    splits = [task.split for task in tasks]
    assert (splits.count("train"), splits.count("test")) == SIZES[domain]
    assert all(task.text and len({call.id for call in task.gold}) == len(task.gold) for task in tasks)
    assert target.task(tasks[3].id) == tasks[3]
    names = [tool["name"] for tool in target.tools]
    assert names == sorted(names)
    assert all({"name", "description", "parameters"} == tool.keys() for tool in target.tools + target.user_tools)
    assert bool(target.user_tools) == (domain == "telecom")
    assert target.policy
    known = {tool["name"] for tool in target.tools + target.user_tools}
    assert {call.name for task in tasks for call in task.gold} <= known


def test_writes_are_told_from_reads() -> None:
    retail = environment("retail")
    assert retail.is_write("cancel_pending_order")
    assert not any(retail.is_write(name) for name in ("get_order_details", "calculate", "no_such_tool"))
    assert environment("telecom").is_write("toggle_data")


def test_loading_twice_gives_the_same_environment_and_a_wrong_task_is_named() -> None:
    assert environment("retail") is environment("retail")
    with pytest.raises(InputError, match=r"no such task.*'9999'"):
        environment("retail").reset("9999")


# --- answers ----------------------------------------------------------------------------------------------------------


WILD = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([]) | st.just([{"a": "b"}])
WILD_KEYS = ("self", "tool_name", "requestor", "order_id", "total_baggages", "passengers")
WILD_NAMES = ("no_such_tool", "", "__init__", "_get_user")


@pytest.mark.parametrize("domain", TABLES)
def test_gold_and_wild_calls_are_answered_as_the_package_answers(domain: str) -> None:
    ours, package = environment(domain).fork(), package_environment(domain)
    for call in gold_calls(domain):
        assert answer(ours.call(call.name, call.arguments)) == package_answer(package, call.name, dict(call.arguments))

    @settings(max_examples=50, deadline=None, database=None)
    @given(
        st.sampled_from(gold_calls(domain)),
        st.dictionaries(st.sampled_from(WILD_KEYS), WILD, max_size=2),
        st.lists(WILD, max_size=2),
        st.sampled_from(["assistant", "assistant", "user"]),
        st.none() | st.none() | st.sampled_from(WILD_NAMES),
    )
    def check(call: ToolCall, extra: dict[str, Any], values: list[Any], requestor: Any, name: str | None) -> None:
        arguments = {**call.arguments, **dict(zip(call.arguments, values, strict=False)), **extra}
        tool = call.name if name is None else name
        assert answer(ours.call(tool, arguments, requestor)) == package_answer(package, tool, arguments, requestor)

    check()
    assert ours.database_hashes() == (package.get_db_hash(), None)


def test_values_are_parsed_answers() -> None:
    retail = environment("retail").fork()
    found = retail.call("find_user_id_by_email", {"email": "nobody@example.com"})
    assert found == CallResult("Error: User not found", error=True, content="Error: User not found")
    sum_ = retail.call("calculate", {"expression": "100 + 20.5"})
    assert sum_.value == sum_.content == "120.5"
    assert retail.call("list_all_product_types", {}).value["T-Shirt"] == "9523456873"


@pytest.mark.parametrize("expression", ["9**9**9", "1" * 201, "((1" + "+1" * 200 + "))"])
def test_expressions_that_could_hang_never_reach_the_package(expression: str) -> None:
    result = environment("retail").fork().call("calculate", {"expression": expression})
    assert result.error
    assert "refused" in result.content


def test_what_breaks_the_environment_is_not_taken_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    retail = environment("retail").fork()
    monkeypatch.setattr(retail.world.package, "to_json_str", lambda response: 1 / 0)
    with pytest.raises(EnvironmentCallError, match=r"tau2-retail: calculate broke.*ZeroDivisionError"):
        retail.call("calculate", {"expression": "1"})


# --- state ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", TABLES)
def test_copies_of_all_records_are_exact(domain: str) -> None:
    for table in environment(domain).shared.databases[0].tables.values():
        for record in table.values():
            copied = type(record).model_validate_json(record.model_dump_json())
            assert json.dumps(copied.model_dump()) == json.dumps(record.model_dump())


@pytest.mark.parametrize("domain", TABLES)
def test_reset_restores_the_fresh_database_after_any_calls(domain: str) -> None:
    used = environment(domain).fork()
    fresh_hash, fresh_state = package_environment(domain).get_db_hash(), used.state_hash()
    shared = used.shared.databases[0].tables
    first = used.tasks()[0].id

    @settings(max_examples=20, deadline=None, database=None)
    @given(st.lists(st.sampled_from(gold_calls(domain)), max_size=25))
    def check(calls: list[ToolCall]) -> None:
        for call in calls:
            used.call(call.name, call.arguments)
        used.reset(first)
        assert used.state_hash() == fresh_state
        for name, records in shared.items():
            live = getattr(used.world.package.tools.db, name)
            assert list(live) == list(records)
            assert all(map(operator.is_, live.values(), records.values()))

    check()
    assert used.database_hashes() == (fresh_hash, None)


def test_states_are_equal_exactly_where_the_package_hashes_are() -> None:
    left, right = environment("retail").fork(), environment("retail").fork()
    writes = [call for call in gold_calls("retail") if left.is_write(call.name)]
    verdicts = set()
    for seed in range(4):
        random = Random(seed)
        calls = random.sample(writes, 8)
        for target, order in ((left, calls), (right, random.sample(calls, 8 - seed % 2))):
            target.reset(left.tasks()[0].id)
            for call in order:
                target.call(call.name, call.arguments)
        verdicts.add(left.state_hash() == right.state_hash())
        assert (left.state_hash() == right.state_hash()) == (left.database_hashes() == right.database_hashes())
    assert verdicts == {True, False}


@pytest.mark.parametrize("domain", SIZES)
def test_two_environments_do_not_disturb_each_other(domain: str) -> None:
    one, two = environment(domain).fork(), environment(domain).fork()
    tasks = [task for task in one.tasks() if any(one.is_write(call.name) for call in task.gold)]
    for left, right in pairwise(tasks[:13]):
        alone = []
        for task in (left, right):
            one.reset(task.id)
            alone.append(([answer(result) for result in play(one, task)], one.state_hash()))
        one.reset(left.id)
        two.reset(right.id)
        mixed: tuple[list[Any], list[Any]] = ([], [])
        for step in range(max(len(left.gold), len(right.gold))):
            for target, task, results in ((one, left, mixed[0]), (two, right, mixed[1])):
                for call in task.gold[step : step + 1]:
                    results.append(answer(target.call(call.name, call.arguments, call.requestor)))
        assert [(mixed[0], one.state_hash()), (mixed[1], two.state_hash())] == alone


# --- gold -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", SIZES)
def test_gold_replay_scores_one_on_every_task_and_is_closed(domain: str, tmp_path: Path) -> None:
    trajectories = list(replay_gold(f"tau2-{domain}"))
    assert len(trajectories) == sum(SIZES[domain])
    assert {t.outcome.reward for t in trajectories} == {1.0}
    assert all(closure_problem(t.messages) is None for t in trajectories)
    assert trajectories[0].id == f"gold-tau2-{domain}-{trajectories[0].task.id}"
    assert [len(list(t.calls())) for t in trajectories] == [len(t.task.gold) for t in trajectories]
    write_jsonl(tmp_path / "gold.jsonl", (t.model_dump(mode="json") for t in trajectories))
    assert list(read_trajectories(tmp_path / "gold.jsonl")) == trajectories


def test_gold_replay_tells_the_user_what_the_task_asks_for() -> None:
    retail = environment("retail").fork()
    task = next(task for task in retail.tasks() if len(task.communicate) > 1)
    last = replay(retail, task).messages[-1]
    assert (last.role, last.content) == ("assistant", "\n".join(task.communicate))
    assert retail.score(task.id, [last.content or ""]).reward == 1


def test_the_score_says_what_is_missing() -> None:
    retail = environment("retail").fork()
    task = next(task for task in retail.tasks() if task.communicate and any(retail.is_write(c.name) for c in task.gold))
    retail.reset(task.id)
    score = retail.score(task.id, ["", "no news"])
    assert (score.reward, score.parts) == (0.0, {"DB": 0.0, "COMMUNICATE": 0.0})
    assert "orders/#W" in score.detail
    assert f"not reported: {task.communicate[0]!r}" in score.detail


# --- recorded runs ----------------------------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.parametrize(
    "source", ["gpt-4.1_retail", "ft-gpt-4.1_retail", "gpt-4.1_airline", "ft-gpt-4.1_airline", "gpt-4.1_telecom"]
)
def test_recorded_runs_replay_to_the_recorded_answers_and_rewards(shared_data: Path, source: str) -> None:
    with gzip.open(shared_data / "trajectories" / f"tau2_{source}.json.gz", "rt", encoding="utf-8") as stream:
        simulations = json.load(stream)["simulations"]
    target = environment(source.split("_")[1]).fork()
    for simulation in simulations:
        target.reset(simulation["task_id"])
        open_results: list[CallResult] = []
        reported = []
        for message in simulation["messages"]:
            if message["role"] == "tool":
                assert answer(open_results.pop(0)) == (message["content"], message["error"])
                continue
            if message["role"] == "assistant":
                reported.append(message["content"] or "")
            for call in message["tool_calls"] or []:
                open_results.append(target.call(call["name"], call["arguments"], call["requestor"]))
        assert target.score(simulation["task_id"], reported).reward == simulation["reward_info"]["reward"]
