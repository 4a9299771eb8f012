"""Executable fidelity: a plan reaches the gold plan's end where state and report are the same, and only there."""

from __future__ import annotations

from itertools import islice

import pytest

from data.environments import load_environment
from data.labels.dataflow import label
from data.labels.domain_facts import facts_of
from data.labels.replay import ReachesGold
from graph_handoff.plan import REPORT, Plan, Step

pytest.importorskip("tau2")

from data.environments.gold import replay_gold


def test_a_gold_plan_reaches_itself_and_nothing_done_does_not() -> None:
    environment = load_environment("tau2-airline")
    reaches, changed = ReachesGold(environment), 0
    for trajectory in islice(replay_gold("tau2-airline"), 20):
        plan, task = label(trajectory, facts_of(trajectory)).plan, trajectory.task.id
        assert reaches(plan, task, plan)
        writes = any(environment.is_write(step.name) for step in plan.steps)
        report = any(step.name == REPORT for step in plan.steps)
        assert reaches(Plan(()), task, plan) == (not writes and not report)
        changed += writes
    assert changed > 5


def test_what_gold_told_must_be_told() -> None:
    environment = load_environment("tau2-airline")
    task = next(iter(environment.tasks())).id
    report = Plan((Step(REPORT, {"info": ["327", "yes"]}, is_action=True),))
    more = Plan((Step(REPORT, {"info": ["yes", "327", "also"]}, is_action=True),))
    reaches = ReachesGold(environment)
    assert reaches(more, task, report)
    assert not reaches(Plan(()), task, report)
    assert not ReachesGold(environment)(report, task, more)


def test_an_exact_comparison_wants_no_more_told_and_the_same_look_ups() -> None:
    environment = load_environment("tau2-retail")
    look = Step("find_user_id_by_email", {"email": "nobody@example.com"})
    plan = Plan((look, Step(REPORT, {"info": ["327"]}, is_action=True)))
    more = Plan((look, Step(REPORT, {"info": ["327", "also"]}, is_action=True)))
    task = "a synthetic task, which begins as the first one does"
    exact = ReachesGold(environment, exact=True)
    assert exact(plan, task, plan)
    assert not exact(more, task, plan)
    assert not exact(Plan(plan.steps[1:]), task, plan)
    assert ReachesGold(environment)(Plan(plan.steps[1:]), task, plan)
