"""`handoff route`: one task, a file of plans, and the overhead rule's figures."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from data.labelled import LabelledGraph, LabelStats, write_graphs
from data.route import RouteConfig, run
from data.trajectory import TaskInfo
from handoff.console import set_quiet
from handoff.errors import ConfigError, InputError
from handoff.files import read_jsonl
from handoff.plan import Plan, Step
from handoff.reference import Reference

ID = {"type": "string"}
TOOLS = [
    {"name": "get_order", "parameters": {"properties": {"order_id": ID}}},
    {"name": "cancel_order", "parameters": {"properties": {"order_id": ID, "reason": ID}}},
]
PLAN = Plan((Step("get_order", {"order_id": "#W1234567"}), Step("cancel_order", {"order_id": Reference("t1", ("id",))})))
TASKS = ["Cancel my order #W1234567.", "Cancel my order if it is late, please."]


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    (tmp_path / "tools.json").write_bytes(orjson.dumps({"shop": TOOLS}))
    records = [
        LabelledGraph(
            id=f"plan-{number}",
            source="gold",
            task=TaskInfo(id=str(number), text=text, domain="shop"),
            graph=PLAN.to_graph(),
            stats=LabelStats(words="task", calls=2),
        )
        for number, text in enumerate(TASKS)
    ]
    write_graphs(tmp_path / "graphs.jsonl", records)
    return tmp_path


@pytest.fixture(autouse=True)
def _loud() -> None:
    set_quiet(False)


def test_one_task_is_decided_with_its_reason(capsys: pytest.CaptureFixture[str], plans: Path) -> None:
    (plans / "flat.json").write_bytes(orjson.dumps(TOOLS))
    assert run(RouteConfig(task=TASKS[0], tools=plans / "flat.json", explain=True)) == 0
    shown = capsys.readouterr().out
    assert "graph (router rules, score 0.50)" in shown
    assert "a look-up chain" in shown
    assert "pattern: simple" in shown
    assert "without a plan" in shown.lower()


def test_a_file_of_plans_is_decided_counted_and_written(capsys: pytest.CaptureFixture[str], plans: Path) -> None:
    config = RouteConfig(input=plans / "graphs.jsonl", tools=plans / "tools.json", explain=True, out=plans / "out.jsonl")
    run(config)
    shown = capsys.readouterr().out
    assert "2 decisions, router rules" in shown
    assert "50.0" in shown
    assert "a language model that decides alike: Not worth it" in shown
    records = [record for _, record in read_jsonl(plans / "out.jsonl")]
    assert [(r["id"], r["format"], r["pattern"]) for r in records] == [
        ("plan-0", "graph", "simple"),
        ("plan-1", "nl", "conditional"),
    ]


def test_one_plan_is_weighed(capsys: pytest.CaptureFixture[str], plans: Path) -> None:
    base = RouteConfig(input=plans / "graphs.jsonl", tools=plans / "tools.json", id="plan-0", explain=True)
    run(base)
    assert "Tokens read, ngh against nl" in capsys.readouterr().out
    run(base.model_copy(update={"success_gain": 0.5, "execution": 100_000.0}))
    assert "a language model that decides alike: Worth it" in capsys.readouterr().out


def test_what_is_missing_is_named(plans: Path) -> None:
    with pytest.raises(InputError, match="no such record"):
        run(RouteConfig(input=plans / "graphs.jsonl", tools=plans / "tools.json", id="plan-9"))
    (plans / "other.json").write_bytes(orjson.dumps({"bank": TOOLS}))
    with pytest.raises(InputError, match="no tools of this domain"):
        run(RouteConfig(input=plans / "graphs.jsonl", tools=plans / "other.json"))
    (plans / "bad.json").write_text("3")
    with pytest.raises(InputError, match="array of tool schemas"):
        run(RouteConfig(task="x", tools=plans / "bad.json"))
    with pytest.raises(ConfigError, match="unknown router"):
        run(RouteConfig(task="x", router="nobody"))
    with pytest.raises(ValueError, match="a task's words"):
        RouteConfig()
