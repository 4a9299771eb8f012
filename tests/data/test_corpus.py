"""The corpus: split by task, no overlap, nothing lost without a count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from label_factory import Call, trajectory

from data import corpus
from data.corpus import CorpusConfig, check_disjoint, fill_splits, read_corpus
from data.environments import environment_of
from data.labelled import LabelledGraph, LabelStats, write_graphs
from data.recordings import read_recordings
from data.toolsets import ToolsetStore, toolset_hash
from data.trajectory import TaskInfo
from graph_handoff.codec import load_codec
from graph_handoff.errors import InputError, OutputError
from graph_handoff.files import write_jsonl
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
    [({"task_id": "1"}, "one task is in train"), ({"compact": "same"}, "one plan is in train")],
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


SHOP = [{"name": "get_user_details", "parameters": {"properties": {"user_id": {"type": "string"}}}}]


def own_corpus(tmp_path: Path, number: int, **settings: Any) -> CorpusConfig:
    """A corpus of so many own records, none of which has a split of its own."""
    name = ToolsetStore(tmp_path).add(SHOP)
    write_graphs(tmp_path / "graphs.jsonl", [record("openai", str(n), n, "shop", toolset=name) for n in range(number)])
    config = CorpusConfig(inputs=(tmp_path / "graphs.jsonl",), out=tmp_path / "corpus", **settings)
    assert corpus.run(config) == 0
    return config


def test_own_tasks_are_divided_by_their_hash(tmp_path: Path) -> None:
    sizes = {split: len(rows) for split, rows in read_corpus(own_corpus(tmp_path, 300).out).items()}
    assert sizes["train"] > 200 and min(sizes["validation"], sizes["test"]) > 15
    more = read_corpus(own_corpus(tmp_path, 300, test=0.3).out)
    assert len(more["test"]) > 70
    assert {row.id for row in more["train"]} < {f"openai-{n}-{n}" for n in range(300)}


@pytest.mark.parametrize("number", range(3, 12))
def test_few_own_tasks_leave_no_split_empty(number: int, tmp_path: Path) -> None:
    rows = read_corpus(own_corpus(tmp_path, number).out, corpus.SPLITS)
    assert sum(map(len, rows.values())) == number
    assert all(rows.values())


def test_an_empty_split_is_said_and_a_stage_that_needs_it_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = own_corpus(tmp_path, 1)
    assert "the split validation is empty: no network can be trained" in capsys.readouterr().err
    full = next(split for split, rows in read_corpus(config.out).items() if rows)
    with pytest.raises(InputError, match="is empty, and this stage needs it"):
        read_corpus(config.out, [split for split in corpus.SPLITS if split != full])


def test_a_benchmarks_tasks_keep_their_side() -> None:
    def row(task: str, split: str, has_split: bool) -> dict[str, Any]:
        return {"domain": "d", "task_id": task, "split": split, "has_split": has_split}

    learnt = [row(str(n), "train", True) for n in range(3)]
    fill_splits(learnt)
    assert sorted(one["split"] for one in learnt) == ["train", "train", "validation"]
    held_out = [row(str(n), "test", True) for n in range(3)]
    fill_splits(held_out)
    assert {one["split"] for one in held_out} == {"test"}


def test_a_call_that_no_schema_describes_is_left_out_and_counted(tmp_path: Path) -> None:
    name = ToolsetStore(tmp_path).add([{"name": "other"}])
    write_graphs(tmp_path / "graphs.jsonl", [record("openai", "1", 1, "shop", toolset=name)])
    with pytest.raises(InputError, match="1 left out: a call of a tool that its schemas do not describe: "):
        corpus.run(CorpusConfig(inputs=(tmp_path / "graphs.jsonl",), out=tmp_path / "corpus"))


def test_recordings_answer_the_calls_of_rows_without_an_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ToolsetStore(tmp_path).add(SHOP)
    one = trajectory(Call("get_user_details", {"user_id": "user_7"}, {"name": "Mei"}), toolset=toolset_hash(SHOP))
    write_jsonl(tmp_path / "t.jsonl", [one.model_copy(update={"id": f"openai-{n}-{n}"}).model_dump() for n in (7, 99)])
    config = own_corpus(tmp_path, 9, trajectories=(tmp_path / "t.jsonl",))
    assert "neither environment nor recording: 8 delegations" in capsys.readouterr().out
    rows = [row for part in read_corpus(config.out).values() for row in part]
    recorded = read_recordings(config.out, rows)
    assert list(recorded.recordings) == ["openai-7-7"]
    (row,) = (row for row in rows if row.id == "openai-7-7")
    environment = environment_of(row, recorded)
    environment.reset(row.task)
    assert environment.call("get_user_details", {"user_id": "user_7"}).value == {"name": "Mei"}
    assert environment.call("get_user_details", {"user_id": "user_8"}).not_recorded
