"""The charts: labels that do not cover each other, positions that mean what they say."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trial_factory import suite, write_run

from eval.report.charts import GAP, Box, forest, place, scatter
from eval.report.load import load_evaluation, load_published
from eval.report.model import BenchmarkSummary
from eval.report.summary import summarise

OUTER = Box(54, 2, 518, 310)
CLUSTER = {
    "Prose": (211.0, 220.7),
    "Compact": (344.9, 16.0),
    "SFT": (285.6, 265.1),
    "T5": (344.9, 16.0),
    "T5 text": (331.2, 215.8),
    "Hybrid": (318.4, 16.0),
    "LLMLingua-2": (286.4, 223.2),
    "Blind": (290.4, 287.3),
    "Delta": (344.9, 16.0),
    "TF-IDF": (303.8, 275.0),
}
"""Where protocols of a real run lie: three on one spot, the others side by side."""
spots = st.lists(st.tuples(st.floats(60, 508), st.floats(16, 312)), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def benchmark_summary(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkSummary:
    folder = write_run(tmp_path_factory.mktemp("run"))
    return summarise(load_evaluation(Path(folder)), load_published(), "t").benchmarks[0]


@given(spots, st.integers(0, 18))
@settings(max_examples=30, deadline=None)
def test_labels_keep_clear_of_each_other_and_of_the_markers(points: list[tuple[float, float]], length: int) -> None:
    names = ["n" * max(3, (length + 5 * index) % 19) for index in range(len(points))]
    labels = place(points, names, [], OUTER)
    markers = [Box(x - 6, y - 6, x + 6, y + 6) for x, y in points]
    for one, other in combinations(labels, 2):
        assert not one.box.grown(GAP - 0.2, 0).meets(other.box)
    for label in labels:
        assert not any(label.box.overlap(marker) > 1 for marker in markers)
        assert OUTER.left - 0.1 <= label.box.left and label.box.right <= OUTER.right + 0.1
        assert OUTER.top - 0.1 <= label.box.top and label.box.bottom <= OUTER.bottom + 0.1
    assert labels == place(points, names, [], OUTER)


def test_labels_of_a_cluster_stand_apart_and_their_lines_strike_none_through() -> None:
    whiskers = [Box(x - 2, y - 40, x + 2, y + 30) for x, y in CLUSTER.values()]
    labels = place(list(CLUSTER.values()), list(CLUSTER), whiskers, OUTER)
    markers = {name: Box(x - 6, y - 6, x + 6, y + 6) for name, (x, y) in CLUSTER.items()}
    for one, other in combinations(labels, 2):
        assert not one.box.grown(GAP - 0.2, 0).meets(other.box), (one, other)
        assert not (one.leader and other.box.is_crossed_by(one.leader)), (one, other)
        assert not (other.leader and one.box.is_crossed_by(other.leader)), (one, other)
    for label in labels:
        assert not any(label.box.meets(marker) for marker in markers.values()), label


def test_a_line_crosses_a_box_it_enters() -> None:
    box = Box(10, 10, 20, 20)
    assert all(map(box.is_crossed_by, [(0, 15, 30, 15), (15, 0, 15, 15), (0, 0, 30, 30), (9, 12, 12, 9)]))
    assert not any(map(box.is_crossed_by, [(0, 15, 9, 15), (5, 0, 5, 30), (0, 25, 30, 25), (0, 12, 12, 0)]))


def test_coincident_points_get_labels_of_their_own() -> None:
    labels = place([(200, 50), (200, 50), (200, 50)], ["NGH JSON", "NGH bare", "Compact"], [], OUTER)
    assert len({(label.x, label.y) for label in labels}) == 3


def test_scatter_places_points_by_their_numbers(benchmark_summary: BenchmarkSummary) -> None:
    for total in (False, True):
        chart = scatter(suite(), benchmark_summary, total)
        assert [point.baseline for point in chart.points] == [True, False, False, False, False, False]
        assert chart.points[0].x == chart.one
        for point, row in zip(chart.points, benchmark_summary.protocols, strict=True):
            assert row.compression is not None and row.reward is not None
            ratio = row.compression.total if total else row.compression.wire
            assert (point.x > chart.one) == (ratio > 1)
            height = chart.frame.bottom - chart.frame.top
            assert point.y == pytest.approx(chart.frame.bottom - row.reward * height, abs=0.1)


def test_forest_draws_intervals_around_their_means(benchmark_summary: BenchmarkSummary) -> None:
    chart = forest(suite(), benchmark_summary)
    assert [row.declared for row in chart.rows] == [True, False, True, True, True]
    for row, data in zip(chart.rows, benchmark_summary.protocols[1:], strict=True):
        assert row.low is not None and row.at is not None and row.high is not None and data.difference is not None
        assert chart.frame.left <= row.low <= row.at <= row.high <= chart.frame.right
        assert (row.at > chart.zero) == ((data.difference.mean or 0) > 0)
    gaps = [b.at - a.at for a, b in zip(chart.ticks, chart.ticks[1:], strict=False)]
    assert len(chart.ticks) <= 9 and max(gaps) - min(gaps) <= 0.21
