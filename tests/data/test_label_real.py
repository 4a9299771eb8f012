"""Labels of real trajectories, executed in the real environments."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from data.environments import load_environment
from data.environments.base import Environment
from data.labels.dataflow import label
from data.labels.domain_facts import facts_of
from data.labels.record import label_trajectory
from data.labels.replay import feeding, run_plan, run_recorded, some_order, with_steps
from data.sources import SOURCES, detect
from data.sources.base import Accepted
from data.trajectory import Trajectory
from graph_handoff.codec import compact
from graph_handoff.delegation import Toolset
from graph_handoff.plan import Plan

pytest.importorskip("tau2")

from data.environments.gold import replay_gold

DOMAINS = ("retail", "airline")


@cache
def gold(domain: str) -> tuple[Trajectory, ...]:
    return tuple(replay_gold(f"tau2-{domain}"))


def plan_of(trajectory: Trajectory) -> Plan:
    return label(trajectory, facts_of(trajectory)).plan


def environment_of(trajectory: Trajectory) -> Environment:
    return load_environment(f"tau2-{trajectory.task.domain}")


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_gold_plan_scores_through_the_compact_codec(domain: str) -> None:
    tools = Toolset.from_schemas(load_environment(f"tau2-{domain}").tools)
    for trajectory in gold(domain):
        graph = plan_of(trajectory).to_graph()
        read = Plan.from_graph(compact.decode(compact.encode(graph, tools), tools))
        found = run_plan(environment_of(trajectory), trajectory.task.id, read)
        assert found.score.reward == 1, (trajectory.id, found.score.detail)
    assert len(gold(domain)) == {"retail": 114, "airline": 50}[domain]


@pytest.mark.parametrize("domain", DOMAINS)
def test_reversed_or_without_a_source_nothing_works_where_a_write_uses_a_read(domain: str) -> None:
    bound = 0
    for trajectory in gold(domain)[::2]:
        environment, plan = environment_of(trajectory), plan_of(trajectory)
        writes = [n for n, step in enumerate(plan.steps) if environment.is_write(step.name) and step.sources]
        if not writes:
            continue
        bound += 1
        places = range(len(plan.steps))
        assert run_plan(environment, trajectory.task.id, with_steps(plan, places[::-1])).score.reward == 0
        for dropped in feeding(plan, writes):
            rest = with_steps(plan, [n for n in places if n != dropped])
            assert run_plan(environment, trajectory.task.id, rest).score.reward == 0
    assert bound > {"retail": 30, "airline": 6}[domain]


@pytest.mark.parametrize("domain", DOMAINS)
def test_any_order_that_the_graph_allows_gives_the_same_state(domain: str) -> None:
    generator = random.Random(1)
    for trajectory in gold(domain):
        environment, plan = environment_of(trajectory), plan_of(trajectory)
        expected = run_plan(environment, trajectory.task.id, plan)
        for _ in range(2):
            found = run_plan(environment, trajectory.task.id, with_steps(plan, some_order(plan, generator)))
            assert (found.state, found.execution.report) == (expected.state, expected.execution.report)


def test_order_edges_are_needed() -> None:
    """Without them a plan exists whose result depends on the order."""
    generator = random.Random(0)
    (trajectory,) = (t for t in gold("airline") if t.task.id == "7")
    environment, plan = environment_of(trajectory), plan_of(trajectory)
    orders = [some_order(plan, generator, with_after=False) for _ in range(20)]
    assert len({run_plan(environment, trajectory.task.id, with_steps(plan, order)).state for order in orders}) > 1


def test_splits_and_answers_of_gold_plans() -> None:
    records = [label_trajectory(trajectory) for trajectory in gold("retail")]
    assert {record.split for record in records} == {"train", "test"}
    assert all(not record.task.gold and not record.task.communicate for record in records)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["gpt-4.1_retail", "ft-gpt-4.1_retail", "gpt-4.1_airline", "ft-gpt-4.1_airline"])
def test_successful_recordings_are_reproduced(shared_data: Path, name: str) -> None:
    path = shared_data / "trajectories" / f"tau2_{name}.json.gz"
    records = [item.trajectory for item in SOURCES[detect(path)].read(path) if isinstance(item, Accepted)]
    good = [trajectory for trajectory in records if trajectory.outcome.reward == 1]
    same = 0
    for trajectory in good:
        state, is_same = run_recorded(environment_of(trajectory), trajectory)
        assert is_same  # the environment answers as it did when this was recorded
        same += run_plan(environment_of(trajectory), trajectory.task.id, plan_of(trajectory)).state == state
    assert same >= 0.95 * len(good)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["tau2_gpt-4.1_telecom", "tau1_gpt-4o_airline_first60"])
def test_other_recordings_are_labelled_as_far_as_it_goes(shared_data: Path, name: str) -> None:
    path = shared_data / "trajectories" / f"{name}.json.gz"
    records = [item.trajectory for item in SOURCES[detect(path)].read(path) if isinstance(item, Accepted)]
    labels = [label_trajectory(trajectory) for trajectory in records]
    calls = sum(found.stats.calls - found.stats.dropped for found in labels)
    nodes = [node for found in labels for node in found.graph.nodes]
    steps = sum(node.type in ("tool_call", "action") and node.value != "report" for node in nodes)
    assert steps == calls > 300
