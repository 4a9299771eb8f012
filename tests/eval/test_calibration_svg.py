"""The picture of a router's calibration: drawn from `router.json`, within its frame, and shown where the router is."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import orjson
import pytest
from export_factory import router_run
from hypothesis import given
from hypothesis import strategies as st

from eval.calibration_svg import calibration_svg
from eval.curves import CurvesConfig
from eval.curves import run as curves
from eval.export import router
from eval.exporting import export
from graph_handoff.errors import InputError
from training.router.calibration import at_threshold, curve, expected_calibration_error, reliability

SVG = "{http://www.w3.org/2000/svg}"
SCORES = st.floats(0, 1)
JUDGED = st.lists(st.tuples(SCORES, SCORES, st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=30)


def settings(judged: list[tuple[float, float, float]], threshold: float = 0.5, saving: float | None = 0.4) -> dict[str, Any]:
    before, after, targets = (list(column) for column in zip(*judged, strict=True))
    ece = {"ece_before": expected_calibration_error(before, targets), "ece": expected_calibration_error(after, targets)}
    achieved = {
        "reliability_before": [bin_._asdict() for bin_ in reliability(before, targets)],
        "reliability": [bin_._asdict() for bin_ in reliability(after, targets)],
        "curve": [point._asdict() for point in curve(after, targets, saving)],
        "test_split": at_threshold(after, targets, threshold, saving)._asdict(),
        "metrics": ece,
    }
    return {"threshold": threshold, "temperature": 1.0, "achieved": achieved}


def write(folder: Path, value: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "router.json").write_bytes(orjson.dumps(value))
    return folder


@given(JUDGED, st.floats(0.5, 1), st.none() | st.floats(0, 1))
def test_every_bin_and_point_is_drawn_within_the_picture(
    tmp_path_factory: pytest.TempPathFactory, judged: list[tuple[float, float, float]], threshold: float, saving: float | None
) -> None:
    value = settings(judged, threshold, saving)
    svg = calibration_svg(write(tmp_path_factory.mktemp("model"), value), "a<b")
    assert svg is not None
    root = ET.fromstring(svg)  # our own
    width, height = float(root.get("width") or 0) / 2, float(root.get("height") or 0)
    told = value["achieved"]
    dots = [circle for circle in root.iter(f"{SVG}circle") if circle.find(f"{SVG}title") is not None]
    allowed = [point for point in told["curve"] if point["threshold"] >= 0.5]
    assert len(dots) == len(told["reliability_before"]) + len(told["reliability"]) + len(allowed) + 1
    assert all(0 < float(dot.get("cx") or 0) < width and 0 < float(dot.get("cy") or 0) < height for dot in dots)
    counts = re.findall(r"after: (\d+) tasks", svg)
    assert sum(map(int, counts)) == len(judged)
    assert root.findtext(f"{SVG}title") == "Calibration of a<b"


def test_a_router_without_tables_has_no_picture_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    assert calibration_svg(write(tmp_path, {"threshold": 0.5, "temperature": 1.0}), "x") is None
    for damage in ({"curve": []}, {"reliability": [{"low": 0.5}]}, {"test_split": None}, {"metrics": {"ece": "x"}}):
        value = settings([(0.9, 0.8, 1.0)])
        value["achieved"] |= damage
        with pytest.raises(InputError, match=rf"router\.json, field achieved\.{next(iter(damage))}"):
            calibration_svg(write(tmp_path, value), "x")


def test_the_card_and_the_page_of_curves_show_it(tmp_path: Path) -> None:
    run = router_run(tmp_path / "mine", router.KIND)
    (run / "metrics.jsonl").write_bytes(orjson.dumps({"step": 1, "loss": 0.5}) + b"\n")
    config = router.CONFIG(run=run)
    export(router.KIND, config)
    assert not (run / "export" / "picture.svg").exists()
    assert "picture.svg" not in (run / "export" / "README.md").read_text()
    write(run / "model", settings([(0.9, 0.8, 1.0), (0.2, 0.3, 0.0)]))
    export(router.KIND, config)
    picture = (run / "export" / "picture.svg").read_text()
    assert "Calibration of mine" in picture
    assert "](picture.svg)" in (run / "export" / "README.md").read_text()
    assert curves(CurvesConfig(runs=(run,), out=tmp_path / "out")) == 0
    assert "data:image/svg+xml;base64," in (tmp_path / "out" / "curves.html").read_text()
