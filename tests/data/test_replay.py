"""Executable fidelity: a plan reaches the gold plan's end where state and report are the same, and only there."""

from __future__ import annotations

from itertools import islice

import pytest

from data.environments import load_environment
from data.labels.dataflow import label
from data.labels.domain_facts import facts_of
from data.labels.replay import reaches_gold, run_plan
from graph_handoff.plan import REPORT, Plan, Step

pytest.importorskip("tau2")

from data.environments.gold import replay_gold


def test_a_gold_plan_reaches_itself_and_nothing_done_does_not() -> None:
    environment = load_environment("tau2-airline")
    changed = 0
    for trajectory in islice(replay_gold("tau2-airline"), 20):
        plan, task = label(trajectory, facts_of(trajectory)).plan, trajectory.task.id
        gold = run_plan(environment, task, plan)
        assert reaches_gold(environment, task, gold, plan)
        writes = any(environment.is_write(step.name) for step in plan.steps)
        assert reaches_gold(environment, task, gold, Plan(())) == (not writes and not gold.execution.report)
        changed += writes
    assert changed > 5


def test_what_gold_told_must_be_told() -> None:
    environment = load_environment("tau2-airline")
    task = next(iter(environment.tasks())).id
    report = Plan((Step(REPORT, {"info": ["327", "yes"]}, is_action=True),))
    more = Plan((Step(REPORT, {"info": ["yes", "327", "also"]}, is_action=True),))
    gold = run_plan(environment, task, report)
    assert reaches_gold(environment, task, gold, more)
    assert not reaches_gold(environment, task, run_plan(environment, task, more), report)
    assert not reaches_gold(environment, task, gold, Plan(()))
