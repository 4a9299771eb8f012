"""The page of training curves: what a log holds is drawn, what it does not hold is said."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import orjson
import pytest

from eval.curves import CurvesConfig, read_log, run
from eval.curves_svg import Chart, Line, draw
from graph_handoff.errors import InputError

SVG = "{http://www.w3.org/2000/svg}"


def write_log(folder: Path, entries: list[Any]) -> Path:
    folder.mkdir(parents=True)
    lines = [entry if isinstance(entry, bytes) else orjson.dumps(entry) for entry in entries]
    (folder / "metrics.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return folder


LOG: list[Any] = [
    {"step": 10, "loss": 4.0, "epoch": 0.5},
    {"step": 10, "eval_loss": 3.0, "eval_fidelity": 0.2},
    {"step": 20, "loss": 2.0},
    {"step": 20, "eval_loss": 1.0, "eval_fidelity": 0.6},
    {"step": 30, "loss": 1.0},
    {"step": 30, "eval_loss": 2.0, "eval_fidelity": 0.5},
    {"step": 30, "train_loss": 2.3, "total_flos": 1e9},
    {"step": 20, "best": "loss", "value": 1.0},
]


def test_a_log_is_read_by_metric_and_part(tmp_path: Path) -> None:
    log = read_log(write_log(tmp_path / "a", LOG) / "metrics.jsonl")
    assert log.run == "a"
    assert log.best == 20
    assert log.series == {
        ("loss", "train"): [(10, 4.0), (20, 2.0), (30, 1.0)],
        ("loss", "validation"): [(10, 3.0), (20, 1.0), (30, 2.0)],
        ("fidelity", "validation"): [(10, 0.2), (20, 0.6), (30, 0.5)],
    }
    assert (log.broken, log.missing) == (0, 0)


def test_broken_lines_are_counted_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [*LOG[:2], b'{"step": 12, "lo', b"[1]", {"loss": 3}, {"step": 20, "loss": None, "note": "x"}]
    folder = write_log(tmp_path / "a", entries)
    log = read_log(folder / "metrics.jsonl")
    assert (log.broken, log.missing) == (3, 2)
    assert run(CurvesConfig(runs=(folder,), out=tmp_path / "out")) == 0
    said = capsys.readouterr().err
    assert "a: 3 lines of the log could not be read" in said
    assert "a: 2 values are no finite numbers" in said
    assert "a: no best checkpoint is recorded" in said
    assert "3 lines of the log could not be read" in (tmp_path / "out" / "curves.html").read_text()


def test_runs_without_a_log_or_without_entries_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "checkpoints" / "mine", LOG)
    with pytest.raises(InputError, match="allowed: mine"):
        run(CurvesConfig(runs=(Path("other"),)))
    empty = write_log(tmp_path / "empty", [b"junk"])
    with pytest.raises(InputError, match=r"holds no entry \(1 broken lines\)"):
        run(CurvesConfig(runs=(empty,)))
    with pytest.raises(InputError, match="no run logged this metric"):
        run(CurvesConfig(runs=(Path("mine"),), metrics=("los",)))


def test_the_table_shows_first_best_and_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_log(tmp_path / "a", LOG)
    run(CurvesConfig(runs=(folder,), out=tmp_path / "out", metrics=("fidelity",)))
    row = next(line for line in capsys.readouterr().out.splitlines() if "fidelity" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["fidelity", "validation", "a", "0.2", "0.6", "0.5", "30"]


def test_the_picture_has_a_line_a_series_and_a_ring_at_the_best(tmp_path: Path) -> None:
    one, other = write_log(tmp_path / "a<b", LOG), write_log(tmp_path / "c", LOG[:4])
    run(CurvesConfig(runs=(one, other), out=tmp_path / "out"))
    text = (tmp_path / "out" / "curves.svg").read_text()
    root = ET.fromstring(text)  # our own file
    charts = [g for g in root.findall(f"{SVG}g") if g.get("transform")]
    assert [chart.findtext(f"{SVG}text") for chart in charts] == ["loss", "fidelity"]
    assert [len([p for p in chart.findall(f"{SVG}path") if "line" in (p.get("class") or "")]) for chart in charts] == [4, 2]
    rings = [[c.get("class") for c in chart.findall(f"{SVG}circle") if "ring" in (c.get("class") or "")] for chart in charts]
    assert rings == [["ring r0"], ["ring r0"]]  # only the first run came to its end
    page = (tmp_path / "out" / "curves.html").read_text()
    assert "a&lt;b" in page
    assert "a<b" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("points", [((0, 0.0),), ((5, 1e-9), (6, 2e-9)), ((1, -3.0), (900000, 1e7)), ((1, 2.0), (2, 2.0))])
def test_every_point_lies_within_its_chart(points: tuple[tuple[int, float], ...]) -> None:
    root = ET.fromstring(draw([Chart("x", (Line(0, "validation", points, None),))], ["run"]))
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    spots = [
        (float(c.get("cx") or 0), float(c.get("cy") or 0)) for c in root.iter(f"{SVG}circle") if "dot" in (c.get("class") or "")
    ]
    assert len(spots) == len(points)
    assert all(0 < x < width and 0 < y < height for x, y in spots)
