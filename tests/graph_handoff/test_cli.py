"""The command line: parsing, errors as one line, exit codes."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest

from graph_handoff import cli
from graph_handoff.config import Config
from graph_handoff.errors import ConfigError, OutputError

ROOT = Path(__file__).parents[2]


def run(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "graph_handoff.cli", *words], capture_output=True, text=True, cwd=cwd, check=False
    )


@pytest.mark.parametrize(
    ("words", "inputs", "options"),
    [
        (["label", "a.jsonl", "--workers", "2"], ["a.jsonl"], {"workers": "2"}),
        (["label", "--workers=2", "--deep.key", "x y", "a"], ["a"], {"workers": "2", "deep.key": "x y"}),
        (["label", "--resume", "--workers", "-1"], [], {"resume": "true", "workers": "-1"}),
        (["label", "-q", "a", "--", "--b"], ["a", "--b"], {}),
    ],
)
def test_words_are_taken_apart(words: list[str], inputs: list[str], options: dict[str, str]) -> None:
    parsed = cli.parse(words)
    assert (parsed.stage, parsed.inputs, parsed.options) == ("label", inputs, options)
    assert parsed.quiet == ("-q" in words)


def test_two_word_stages_and_unknown_ones() -> None:
    assert cli.parse(["train", "t5", "-c", "x.yaml"]).config == "x.yaml"
    with pytest.raises(ConfigError, match=r"did you mean 'import'"):
        cli.parse(["improt"])
    with pytest.raises(ConfigError, match="given twice"):
        cli.parse(["label", "--a", "1", "--a=2"])


def test_help_and_version_need_no_checkout(tmp_path: Path) -> None:
    shown = run("--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in cli.STAGES)
    assert run("--version", cwd=tmp_path).stdout.strip()
    missing = run("label", cwd=tmp_path) if not (Path(cli.__file__).parents[1] / "data").exists() else None
    assert missing is None or missing.returncode == 3


def test_a_user_error_is_one_line_and_a_code(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("wrkers: 2\n")
    found = run("label", "--config", str(bad))
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "bad.yaml" in found.stderr
    assert "did you mean 'workers'" in found.stderr
    assert run("label", "--config", str(tmp_path / "none.yaml")).returncode == 2


class _Config(Config):
    out: Path = Path("x")


def test_an_error_of_the_configuration_that_shows_at_work_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(config: _Config) -> int:
        raise ConfigError("no model there", field="options.run", found="x")

    monkeypatch.setattr(cli, "load_stage", lambda name: types.SimpleNamespace(CONFIG=_Config, run=fail))
    file = tmp_path / "c.yaml"
    file.write_text("out: y\n")
    with pytest.raises(ConfigError) as error:
        cli.run_stage(cli.parse(["label", "--config", str(file)]))
    assert str(error.value) == f"{file}, field options.run: no model there; found 'x'"
    with pytest.raises(ConfigError, match=r"^field options\.run"):
        cli.run_stage(cli.parse(["label"]))


@pytest.mark.parametrize(
    ("error", "code"),
    [(OutputError("disk full"), 4), (KeyboardInterrupt(), 130), (ConfigError("bad"), 2), (OSError(28, "No space left"), 4)],
)
def test_what_a_stage_raises_becomes_an_exit_code(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(config: _Config) -> int:
        raise error

    monkeypatch.setattr(cli, "load_stage", lambda name: types.SimpleNamespace(CONFIG=_Config, run=fail))
    monkeypatch.setattr(sys, "argv", ["handoff", "label"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == code
    assert capsys.readouterr().err.startswith("handoff: ")
