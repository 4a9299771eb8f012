"""A run folder that cannot be judged: one clear error that names the file, and no report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from trial_factory import write_run

from eval.reporting import ReportConfig, run
from graph_handoff.config import load_config
from graph_handoff.errors import InputError

ROOT = Path(__file__).parents[2]


def broken(folder: Path, **changes: Any) -> None:
    """Change keys of suite.json."""
    value = orjson.loads((folder / "suite.json").read_bytes()) | changes
    (folder / "suite.json").write_bytes(orjson.dumps(value))


def edit_trials(folder: Path, **update: Any) -> None:
    """Change the last trial."""
    records = [orjson.loads(line) for line in (folder / "trials.jsonl").read_bytes().splitlines()]
    records[-1] |= update
    (folder / "trials.jsonl").write_bytes(b"\n".join(orjson.dumps(record) for record in records))


def unfinished(folder: Path, stage: str) -> None:
    (folder / "suite.json").unlink()
    (folder / "manifest.json").write_text(json.dumps({"stage": stage}))


def repeat_a_trial(folder: Path) -> None:
    data = (folder / "trials.jsonl").read_bytes()
    (folder / "trials.jsonl").write_bytes(data + data.splitlines()[-1])


def drop_the_baseline(folder: Path) -> None:
    lines = (folder / "trials.jsonl").read_bytes().splitlines()
    (folder / "trials.jsonl").write_bytes(b"\n".join(line for line in lines if b'"protocol":"nl"' not in line))


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda f: (f / "trials.jsonl").unlink(), "has no trials.jsonl"),
        (lambda f: (f / "suite.json").unlink(), "has no suite.json"),
        (lambda f: unfinished(f, "eval"), "is not finished: give its command again"),
        (lambda f: unfinished(f, "train t5"), "a run of `handoff train t5`, not of `handoff eval`"),
        (lambda f: (f / "trials.jsonl").write_bytes(b""), "holds no trial"),
        (lambda f: (f / "trials.jsonl").write_bytes(b"{"), "record 1: not valid JSON"),
        (lambda f: (f / "suite.json").write_bytes(b"[1"), "not valid JSON"),
        (lambda f: broken(f, famly=[]), "field famly"),
        (lambda f: broken(f, family=["compat"]), "did you mean 'compact'?"),
        (lambda f: broken(f, family=["nl"]), "field family: no such protocol"),
        (lambda f: broken(f, family=["ngh", "ngh"]), "names one thing twice"),
        (lambda f: broken(f, baseline="prose"), "field baseline"),
        (lambda f: broken(f, seeds=[]), "field seeds"),
        (lambda f: edit_trials(f, executor="gpt-x"), "field executor: not what suite.json declares; a report judges one"),
        (lambda f: edit_trials(f, protocol="smoke"), "field protocol"),
        (lambda f: edit_trials(f, seed=9), "found 9; allowed: 0, 1, 2"),
        (lambda f: edit_trials(f, reward=2), "field reward"),
        (repeat_a_trial, "the same task, protocol and seed twice"),
        (drop_the_baseline, "no trial of the baseline 'nl' on tau2-retail"),
    ],
)
def test_bad_input_is_one_clear_error(tmp_path: Path, spoil: Any, message: str) -> None:
    folder = write_run(tmp_path, tasks=2)
    spoil(folder)
    with pytest.raises(InputError) as caught:
        run(ReportConfig(run=folder))
    assert message in str(caught.value)
    assert str(folder) in str(caught.value)
    assert not any((folder / name).exists() for name in ("report.html", "report.md", "report.json"))


def test_a_missing_folder_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such run folder"):
        run(ReportConfig(run=tmp_path / "nowhere"))


def test_configurations_fit_their_class() -> None:
    paths = sorted((ROOT / "configs" / "report").glob("*.yaml"))
    assert paths
    for path in paths:
        assert load_config(ReportConfig, path).out is None
