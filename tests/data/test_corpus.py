"""The corpus: split by task, no overlap, nothing lost without a count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from data import corpus
from data.corpus import CorpusConfig, check_disjoint
from data.labelled import LabelledGraph, LabelStats, write_graphs
from data.toolsets import ToolsetStore
from data.trajectory import TaskInfo
from graph_handoff.codec import load_codec
from graph_handoff.errors import InputError, OutputError
from graph_handoff.graph import Graph
from graph_handoff.plan import Plan, Step


def graph(number: int) -> Graph:
    return Plan((Step("get_user_details", {"user_id": f"user_{number}"}),)).to_graph()


def record(source: str, task: str, number: int, domain: str = "retail", **fields: Any) -> LabelledGraph:
    info = TaskInfo(id=task, text=f"I am user_{number}. Look me up.", domain=domain)
    stats = LabelStats(words="task", calls=1)
    return LabelledGraph(id=f"{source}-{task}-{number}", source=source, task=info, graph=graph(number), stats=stats, **fields)


@pytest.fixture
def config(tmp_path: Path) -> CorpusConfig:
    from data.environments import load_environment

    environment = load_environment("tau2-retail")
    tasks = environment.tasks()
    own: Any = {"toolset": ToolsetStore(tmp_path).add(environment.tools), "environment": environment.name}
    held_out = [task.id for task in tasks if task.split == "test"][:3]
    training = [task.id for task in tasks if task.split == "train"][:5]
    records = [record("gold", task, int(task), split="test", **own) for task in held_out]
    records += [record("gold", task, int(task), split="train", **own) for task in training]
    records += [record("synth", str(number), 1000 + number, split="train", **own) for number in range(30)]
    records += [record("synth", "again", int(held_out[0]), split="train", **own), record("openai", "x", 1, "shop")]
    records += [record("tau2", held_out[0], 5000, split="test", **own)]
    write_graphs(tmp_path / "graphs.jsonl", records)
    return CorpusConfig(inputs=(tmp_path / "graphs.jsonl",), out=tmp_path / "corpus")


def load(folder: Path) -> Any:
    from datasets import load_from_disk

    return load_from_disk(str(folder))


def test_held_out_tasks_stay_out_whoever_carried_them_out(config: CorpusConfig) -> None:
    assert corpus.run(config) == 0
    found = load(config.out)
    assert set(found["test"]["source"]) == {"gold", "tau2"}
    assert len(found["test"]) == 4
    assert not set(found["train"]["compact"]) & set(found["test"]["compact"])
    assert len(found["train"]) + len(found["validation"]) == 35
    assert set(found["validation"]["source"]) <= {"gold", "synth"}


def test_every_text_form_holds_the_same_graph_and_the_card_counts(config: CorpusConfig) -> None:
    corpus.run(config)
    row = load(config.out)["train"][0]
    tools = ToolsetStore(config.out).toolset(row["toolset"])
    assert load_codec("compact").decode(row["compact"], tools).same_as(Graph.loads(row["graph"]))
    assert "user_" in row["prose"]
    card = (config.out / "README.md").read_text()
    assert "| test | gold | retail | 3 |" in card
    assert "left out: 1 (no tool schemas: name them with `handoff import --tools FILE`)" in card
    assert "left out: 1 (the same plan as another record" in card


def test_the_same_input_gives_the_same_corpus(config: CorpusConfig, tmp_path: Path) -> None:
    corpus.run(config)
    corpus.run(config.model_copy(update={"out": tmp_path / "again"}))
    assert (config.out / "manifest.json").read_bytes() == (tmp_path / "again" / "manifest.json").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [({"task_id": "1"}, "one task stands in train"), ({"compact": "same"}, "one plan stands in train")],
)
def test_an_overlap_is_refused(change: dict[str, str], message: str) -> None:
    first = {"id": "a", "source": "gold", "domain": "retail", "task_id": "1", "compact": "same", "split": "train"}
    other = {"id": "b", "source": "gold", "domain": "retail", "task_id": "2", "compact": "other", "split": "test"}
    check_disjoint([first, other])
    with pytest.raises(InputError, match=message):
        check_disjoint([first, {**other, **change}])


def test_a_foreign_folder_is_not_replaced_and_nothing_is_left_half_written(config: CorpusConfig, tmp_path: Path) -> None:
    config.out.mkdir()
    (config.out / "thesis.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds no corpus"):
        corpus.run(config)
    assert [path.name for path in config.out.iterdir()] == ["thesis.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "graphs.jsonl", "toolsets"]


def test_an_input_without_tool_schemas_is_an_error(tmp_path: Path) -> None:
    write_graphs(tmp_path / "graphs.jsonl", [record("openai", "x", 1, "shop")])
    with pytest.raises(InputError, match=r"nothing to put into a corpus \(1 left out: no tool schemas: name them with"):
        corpus.run(CorpusConfig(inputs=(tmp_path / "graphs.jsonl",), out=tmp_path / "corpus"))
