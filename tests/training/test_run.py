"""A run folder belongs to one configuration; a checkpoint without its last file does not count."""

from __future__ import annotations

import signal
from pathlib import Path

import orjson
import pytest

from data.runs.manifest import claim, complete
from graph_handoff.cli import STAGES, load_stage
from graph_handoff.errors import InputError, OutputError
from training.run_loop import RunConfig, _Log, _Stop, finish, last_checkpoint, open_run


class Example(RunConfig):
    rate: float = 0.1


@pytest.fixture
def config(tmp_path: Path) -> Example:
    (tmp_path / "corpus").write_text("data")
    return Example(run=tmp_path / "run", corpus=tmp_path / "corpus")


def unfinished(config: Example, stage: str = "x") -> bool:
    with open_run(config, stage, [config.corpus]) as left:
        return left


def test_a_run_is_taken_up_again_and_finished_once(config: Example) -> None:
    assert unfinished(config)
    assert unfinished(config.model_copy(update={"wandb": "offline"}))
    assert unfinished(config.model_copy(update={"use_cpu": False}))
    finish(config, {"loss": 1.5})
    assert not unfinished(config)
    assert orjson.loads((config.run / "metrics.json").read_bytes()) == {"loss": 1.5}
    manifest = orjson.loads((config.run / "manifest.json").read_bytes())
    assert manifest["config"]["rate"] == 0.1
    assert manifest["versions"]["graph-handoff"]


@pytest.mark.parametrize("stage", [name for name in STAGES if name.startswith("train ") or name == "eval"])
def test_where_a_run_lies_and_computes_is_no_part_of_its_identity(stage: str) -> None:
    kind = load_stage(stage).CONFIG
    assert {"run"} <= kind.where <= set(kind.model_fields)
    assert ("use_cpu" in kind.where) == ("use_cpu" in kind.model_fields)


def test_another_configuration_or_other_data_is_refused(config: Example) -> None:
    unfinished(config)
    with pytest.raises(OutputError, match=r"changed: rate\)"):
        unfinished(config.model_copy(update={"rate": 0.2, "use_cpu": False}))
    with pytest.raises(OutputError, match=r"changed: bf16\)"):
        unfinished(config.model_copy(update={"bf16": True}))
    with pytest.raises(OutputError, match="changed: stage"):
        unfinished(config, "y")
    config.corpus.write_text("other data")
    with pytest.raises(OutputError, match="changed: inputs"):
        unfinished(config)


def test_missing_data_and_a_damaged_manifest_are_named(config: Example, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        unfinished(config.model_copy(update={"corpus": tmp_path / "nothing"}))
    unfinished(config)
    (config.run / "manifest.json").write_text("{")
    with pytest.raises(OutputError, match="damaged"):
        unfinished(config)


def test_a_refused_input_leaves_the_folder_free_if_nothing_was_kept(config: Example) -> None:
    for kept in (False, True):
        with pytest.raises(InputError, match="no row"), open_run(config, "x", [config.corpus]):
            if kept:
                (config.run / "labels.jsonl").write_text("{}")
            raise InputError("no row")
        assert (config.run / "manifest.json").exists() == kept


def test_a_folder_counts_by_its_files(config: Example, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a").write_text("1")
    with claim(tmp_path / "r", "x", config, [folder]) as done:
        assert not done
        complete(tmp_path / "r")
    with claim(tmp_path / "r", "x", config, [folder]) as done:
        assert done
    (folder / "b").write_text("2")
    with pytest.raises(OutputError, match="changed: inputs"), claim(tmp_path / "r", "x", config, [folder]):
        pass


def test_half_written_checkpoints_do_not_count(tmp_path: Path) -> None:
    for name in ("checkpoint-abc", "checkpoint-", "checkpoint-12-old", "checkpoint-0x1f"):  # not ours: they are left alone
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
        (tmp_path / "checkpoints" / name / "trainer_state.json").write_text("{}")
    for step, whole in ((9, True), (10, True), (11, False)):
        folder = tmp_path / "checkpoints" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        if whole:
            (folder / "trainer_state.json").write_text("{}")
    found = last_checkpoint(tmp_path)
    assert found is not None
    assert found.name == "checkpoint-10"
    assert not (tmp_path / "checkpoints" / "checkpoint-11").exists()
    assert (tmp_path / "checkpoints" / "checkpoint-abc").exists()


def test_the_log_is_cut_to_the_step_it_goes_on_from(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_text('{"step": 10, "loss": 2}\n{"step": 20, "loss": 1}\n{"step": 30, "lo')
    _Log(file, 20)
    assert [orjson.loads(line)["step"] for line in file.read_bytes().splitlines()] == [10, 20]
    _Log(file, 0)
    assert file.read_bytes() == b""


def test_the_first_signal_asks_and_the_second_stops_at_once() -> None:
    stop = _Stop()
    with stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
