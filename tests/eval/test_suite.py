"""The suite: every job once, a stopped run goes on to the same file, another configuration is refused."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from toy_benchmark import benchmark

from eval import suite
from eval.engine import Job
from eval.report.model import SuiteInfo
from eval.suite import JOURNAL, ProtocolSpec, SuiteConfig
from eval.trial import Trial, read_trials
from handoff.errors import HandoffError, OutputError


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SuiteConfig:
    graphs = tmp_path / "graphs.jsonl"
    graphs.write_text("")
    monkeypatch.setattr(suite, "load_benchmark", lambda name, graphs, part: benchmark(name, 3))
    return SuiteConfig(
        run=tmp_path / "run",
        graphs=graphs,
        protocols=tuple(ProtocolSpec(name=name) for name in ("nl", "ngh", "compact")),
        seeds=(0, 1),
        family=("ngh", "compact"),
    )


def without_engine(
    jobs: list[Job], trial: object, done: object, logs: Path, at_once: int = 1, stop_after: int | None = None
) -> None:
    for number, job in enumerate(jobs):
        if number == stop_after:
            raise KeyboardInterrupt
        done(trial(job))  # type: ignore[operator]


def test_the_real_engine_runs_every_job_once(config: SuiteConfig) -> None:
    assert suite.run(config) == 0
    trials = list(read_trials(config.run / "trials.jsonl"))
    assert len({t.key for t in trials}) == len(trials) == 3 * 3 * 2
    assert all(t.reward == 1.0 for t in trials if t.protocol in ("ngh", "compact"))
    info = SuiteInfo.model_validate_json((config.run / "suite.json").read_text())
    assert (info.baseline, info.family, info.executor) == ("nl", ("ngh", "compact"), "scripted")
    assert list((config.run / "inspect").glob("*.eval"))
    assert not (config.run / JOURNAL).exists()


def test_a_stopped_run_goes_on_to_the_same_bytes(config: SuiteConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = config.model_copy(update={"run": tmp_path / "whole"})
    monkeypatch.setattr(suite, "run_trials", without_engine)
    suite.run(whole)
    monkeypatch.setattr(suite, "run_trials", lambda *a: without_engine(*a, stop_after=7))
    with pytest.raises(KeyboardInterrupt):
        suite.run(config)
    assert not (config.run / "trials.jsonl").exists()
    with (config.run / JOURNAL).open("ab") as stream:
        stream.write(b'{"half a rec')
    made: list[Job] = []

    def count(jobs: list[Job], trial: object, done: object, logs: Path, at_once: int) -> None:
        made.extend(jobs)
        without_engine(jobs, trial, done, logs)

    monkeypatch.setattr(suite, "run_trials", count)
    suite.run(config)
    assert len(made) == 18 - 7
    assert (config.run / "trials.jsonl").read_bytes() == (whole.run / "trials.jsonl").read_bytes()
    suite.run(config)
    assert len(made) == 18 - 7


def test_ctrl_c_in_the_engine_stops_the_run_and_keeps_what_was_done(config: SuiteConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = suite.ScriptedExecutor.trial
    made: list[Trial] = []

    def interrupted(self: Any, *arguments: Any) -> Trial:
        if len(made) == 5:
            signal.raise_signal(signal.SIGINT)
        made.append(trial(self, *arguments))
        return made[-1]

    with monkeypatch.context() as patch:
        patch.setattr(suite.ScriptedExecutor, "trial", interrupted)
        with pytest.raises(KeyboardInterrupt):
            suite.run(config)
    assert (config.run / JOURNAL).read_bytes().count(b"\n") >= 5
    assert suite.run(config) == 0


def test_another_configuration_is_refused(config: SuiteConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "run_trials", without_engine)
    suite.run(config)
    with pytest.raises(OutputError, match="changed: seeds"):
        suite.run(config.model_copy(update={"seeds": (5,)}))


def test_a_trial_that_breaks_outside_stops_the_run_with_its_reason(config: SuiteConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, *args: object) -> Trial:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(suite.ScriptedExecutor, "trial", broken)
    with pytest.raises(HandoffError, match="a bug of ours"):
        suite.run(config)
    assert not (config.run / "trials.jsonl").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"family": ("ngh", "t6")}, "'t6' is compared .* but not among the protocols"),
        ({"protocols": (ProtocolSpec(name="nl"), ProtocolSpec(name="nl"))}, "the protocol 'nl' stands there 2 times"),
        ({"seeds": (0, 0)}, "the seed 0 stands there 2 times"),
        ({"seeds": ()}, "at least 1 item"),
        ({"benchmarks": ("tau3",)}, "unknown benchmark 'tau3'"),
        ({"protocols": (ProtocolSpec(name="nl", protocol="prose"),), "family": ()}, "unknown protocol 'prose'"),
    ],
)
def test_a_bad_configuration_names_what_is_wrong(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SuiteConfig(**change)  # type: ignore[arg-type]
