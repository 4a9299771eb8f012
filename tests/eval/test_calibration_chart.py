"""The picture of a router's calibration: drawn from `router.json`, within its frame, and shown where the router is."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import orjson
import pytest
from export_factory import router_run
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.curves import CurvesConfig
from eval.curves import run as curves
from eval.export import router
from eval.exporting import export
from eval.plots import calibration_svg, draw_calibration, read_calibration, to_svg
from graph_handoff.errors import InputError
from training.router.calibration import at_threshold, curve, expected_calibration_error, reliability

SVG = "{http://www.w3.org/2000/svg}"
SCORES = st.floats(0, 1)
JUDGED = st.lists(st.tuples(SCORES, SCORES, st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=30)


def router_settings(
    judged: list[tuple[float, float, float]], threshold: float = 0.5, saving: float | None = 0.4
) -> dict[str, Any]:
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


@settings(deadline=None, max_examples=20)
@given(JUDGED, st.floats(0.5, 1), st.none() | st.floats(0, 1))
def test_every_bin_and_point_is_drawn_within_the_picture(
    tmp_path_factory: pytest.TempPathFactory, judged: list[tuple[float, float, float]], threshold: float, saving: float | None
) -> None:
    value = router_settings(judged, threshold, saving)
    told = value["achieved"]
    found = read_calibration(write(tmp_path_factory.mktemp("model"), value))
    assert found is not None
    figure = draw_calibration(found)
    to_svg(figure, "x")  # lays it out
    reliability_chart, threshold_chart = figure.axes
    before, after = reliability_chart.collections
    assert spots(before) == [(max(b["confidence"], 0.5), b["accuracy"]) for b in told["reliability_before"]]
    assert spots(after) == [(max(b["confidence"], 0.5), b["accuracy"]) for b in told["reliability"]]
    assert reliability_chart.get_title("left") == f"Reliability, {len(judged)} tasks"
    by_lot, thresholds, own = threshold_chart.lines
    allowed = [point for point in told["curve"] if point["threshold"] >= 0.5]
    assert sorted(spots(thresholds)) == sorted((p["graph_share"], 1 - p["regressions"]) for p in allowed)
    assert spots(own) == [(told["test_split"]["graph_share"], 1 - told["test_split"]["regressions"])]
    assert spots(by_lot)[0] == (0, 1)
    for axis in figure.axes:
        low, high = axis.get_window_extent().get_points().tolist()
        for drawn in (*axis.lines, *axis.collections):
            for x, y in axis.transData.transform(spots(drawn)).tolist() if spots(drawn) else ():
                assert low[0] <= x <= high[0]
                assert low[1] <= y <= high[1]


def spots(drawn: Any) -> list[tuple[float, float]]:
    """The points of a line, or of a cloud of dots."""
    points = drawn.get_offsets() if hasattr(drawn, "get_offsets") else drawn.get_xydata()
    return [tuple(point) for point in points.tolist()]


def test_the_picture_says_what_it_is(tmp_path: Path) -> None:
    svg = calibration_svg(write(tmp_path, router_settings([(0.9, 0.8, 1.0), (0.2, 0.3, 0.0)])), "a<b")
    assert svg is not None
    assert svg == calibration_svg(tmp_path, "a<b")
    root = ET.fromstring(svg)  # our own
    assert root.findtext(f"{SVG}title") == "Calibration of a<b"
    words = {text.text for text in root.iter(f"{SVG}text")}
    assert {"Reliability, 2 tasks", "confidence", "accuracy", "share sent as graphs", "no regression"} <= words
    assert {"before temperature scaling, ECE 0.150", "after it, ECE 0.250", "graphs chosen by lot", "the thresholds"} <= words
    assert any((text or "").startswith("its threshold, 0.50: ") for text in words)


def test_a_router_without_tables_has_no_picture_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    assert calibration_svg(write(tmp_path, {"threshold": 0.5, "temperature": 1.0}), "x") is None
    for damage in ({"curve": []}, {"reliability": [{"low": 0.5}]}, {"test_split": None}, {"metrics": {"ece": "x"}}):
        value = router_settings([(0.9, 0.8, 1.0)])
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
    write(run / "model", router_settings([(0.9, 0.8, 1.0), (0.2, 0.3, 0.0)]))
    export(router.KIND, config)
    picture = (run / "export" / "picture.svg").read_text()
    assert "Calibration of mine" in picture
    assert "](picture.svg)" in (run / "export" / "README.md").read_text()
    assert curves(CurvesConfig(runs=(run,), out=tmp_path / "out")) == 0
    assert "data:image/svg+xml;base64," in (tmp_path / "out" / "curves.html").read_text()
