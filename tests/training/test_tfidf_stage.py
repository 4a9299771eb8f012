"""The share of words is chosen by what the keywords still do, on the training tasks alone."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path

import orjson
import pytest
from label_factory import Call, trajectory
from toy_corpus import SCHEMAS, row, save

from data.environments import load_environment
from data.labels.dataflow import label
from data.labels.domain_facts import facts_of
from data.recordings import RECORDINGS_FILE
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.errors import InputError
from graph_handoff.files import write_jsonl
from graph_handoff.plan import Plan, Step
from graph_handoff.protocols import load_protocol
from graph_handoff.protocols.prose.protocol import Prose
from graph_handoff.protocols.tfidf import load_table
from graph_handoff.tokens import count_tokens
from training.tfidf import SharePoint, TfIdfConfig, best, run

pytest.importorskip("tau2")

from data.environments.gold import replay_gold


def test_the_greatest_fidelity_wins_and_of_equal_ones_the_fewest_tokens() -> None:
    assert best([SharePoint(0.1, 0.2, 10), SharePoint(0.5, 0.4, 50), SharePoint(0.9, 0.4, 90)]).keep == 0.5
    assert best([SharePoint(0.9, 0.4, 90), SharePoint(0.5, 0.4, 50), SharePoint(0.1, 0.5, 95)]).keep == 0.1
    assert best([SharePoint(0.2, 0.0, 20), SharePoint(0.1, 0.0, 10)]).keep == 0.1


@pytest.fixture(scope="module")
def delegations() -> list[Delegation]:
    tools = Toolset.from_schemas(load_environment("tau2-airline").tools)
    return [
        Delegation(one.task.id, one.task.text, tools, label(one, facts_of(one)).plan.to_graph())
        for one in islice(replay_gold("tau2-airline"), 6)
    ]


@pytest.fixture
def config(tmp_path: Path, delegations: list[Delegation]) -> TfIdfConfig:
    tools = load_environment("tau2-airline").tools
    rows = [row(d.id, d.graph, d.task, Prose().text_of(d, 0), "airline", environment="tau2-airline") for d in delegations]
    held_out = [rows[0] | {"prose": "zebra"}]
    sampled = [one | {"source": "synth"} for one in rows[:2]]
    parts = {"train": rows + sampled, "validation": held_out, "test": held_out}
    corpus = save(tmp_path / "corpus", parts, tools)
    return TfIdfConfig(run=tmp_path / "run", corpus=corpus, grid=(0.1, 0.5, 1.0))


def test_the_stage_writes_the_share_that_did_best(config: TfIdfConfig, delegations: list[Delegation]) -> None:
    assert run(config) == 0
    metrics = orjson.loads((config.run / "metrics.json").read_bytes())
    points = [SharePoint(**point) for point in metrics["curve"]]
    assert [point.keep for point in points] == [0.1, 0.5, 1.0]
    assert points[0].tokens < points[1].tokens < points[2].tokens
    assert all(point.fidelity * 6 == pytest.approx(round(point.fidelity * 6)) for point in points)  # six tasks: no sampled one
    assert points[2].fidelity >= points[0].fidelity
    assert load_protocol("tfidf", run=config.run).model_info()["here"] == {"keep": metrics["keep"]}
    table = load_table(config.run / "model" / "table.json")
    assert table["keep"] == metrics["keep"] == best(points).keep
    assert table["documents"] == 8 and "zebra" not in table["idf"]
    texts = [load_protocol("tfidf", run=config.run).encode(delegation, 0).text for delegation in delegations]
    assert sum(map(count_tokens, texts)) / 6 == pytest.approx(best(points).tokens)


def test_without_a_training_task_nothing_can_be_chosen(config: TfIdfConfig) -> None:
    shutil.rmtree(config.corpus)
    rows = [row("1", Plan(()).to_graph(), prose="a", domain="airline", source="synth")]
    save(config.corpus, dict.fromkeys(("train", "validation", "test"), rows), SCHEMAS)
    with pytest.raises(InputError, match="no training task"):
        run(config)
    assert not (config.run / "COMPLETE").exists()


def test_own_tasks_are_chosen_by_what_was_recorded(tmp_path: Path) -> None:
    plans = [Plan((Step("find", {"email": f"user{n}@lab.example"}), Step("cancel", {"id": f"W-{n}00{n}"}))) for n in range(3)]
    tools = [{"name": name, "parameters": {"properties": {key: {}}}} for name, key in (("find", "email"), ("cancel", "id"))]
    known = Toolset.from_schemas(tools)
    texts = [Prose().text_of(Delegation(str(n), "", known, one.to_graph()), 0) for n, one in enumerate(plans)]
    rows = [row(str(n), one.to_graph(), prose=texts[n], source="openai") for n, one in enumerate(plans)]
    corpus = save(tmp_path / "corpus", dict.fromkeys(("train", "validation", "test"), rows), tools)
    made = [trajectory(*(Call(step.name, step.arguments, "done") for step in one.steps)) for one in plans[:2]]
    write_jsonl(corpus / RECORDINGS_FILE, [one.model_copy(update={"id": str(n)}).model_dump() for n, one in enumerate(made)])
    config = TfIdfConfig(run=tmp_path / "run", corpus=corpus, grid=(0.1, 1.0))
    assert run(config) == 0
    metrics = orjson.loads((config.run / "metrics.json").read_bytes())
    assert metrics["training_tasks"] == 2  # the third was never recorded
    assert [point["fidelity"] for point in metrics["curve"]] == [0, 1]
