"""`handoff show`: the terminal, SVG, HTML."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from graph_strategies import graphs
from hypothesis import given, settings
from label_factory import Call, trajectory

from data.drawing.layout import lay_out
from data.drawing.svg import draw
from data.labels.record import label_trajectory
from data.show import ShowConfig, run, to_html, to_svg
from data.trajectory import Trajectory
from graph_handoff.errors import ConfigError, InputError
from graph_handoff.graph import Edge, Graph, Node
from graph_handoff.schema import NodeType, Relation

EVIL = '<script>alert("x")</script> & \x1b[31mred\x1b[0m'
ORDER = {"order_id": "#W6390527", "status": "pending", "items": [{"name": "Desk Lamp", "id": "8384507844"}]}


def example() -> Trajectory:
    return trajectory(
        f"I want it cancelled {EVIL}",
        Call("get_order", {"order_id": "#W6390527"}, ORDER),
        Call("return_item", {"item": "8384507844", "note": EVIL}, "Error: " + EVIL, error=True),
        Call("cancel_order", {"order_id": "#W6390527"}, ORDER | {"status": "cancelled"}),
        f"say:done {EVIL}",
        task=f"Cancel #W6390527, the desk lamp. {EVIL}",
    )


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    """A file of trajectories and one of graphs, with two records each."""
    first = example()
    second = trajectory("hello").model_copy(update={"id": "second"})
    one, two = tmp_path / "trajectories.jsonl", tmp_path / "graphs.jsonl"
    one.write_text("".join(record.model_dump_json() + "\n" for record in (first, second)))
    two.write_text("".join(label_trajectory(record).model_dump_json() + "\n" for record in (first, second)))
    return one, two


@pytest.mark.parametrize("which", [0, 1])
def test_the_terminal(paths: tuple[Path, Path], which: int, capsys: Any) -> None:
    assert run(ShowConfig(input=paths[which])) == 0
    said = capsys.readouterr().out
    assert said.startswith("made-up")
    assert 'cancel_order(order_id="#W6390527")' in said
    assert "\x1b" not in said  # what a file holds does not steer the terminal
    if which == 0:
        assert "Error: <script>" in said
    else:
        assert 'if t1.status is "pending"; then status is "cancelled"' in re.sub(r"\s+", " ", said)
        assert ["7 nodes", " 2 tool_call, 2 tool_arg, 1 goal, 1 entity, 1 precondition, 1 postcondition"][0][1:] in said


def test_a_record_by_its_id(paths: tuple[Path, Path], capsys: Any) -> None:
    run(ShowConfig(input=paths[0], id="second"))
    assert capsys.readouterr().out.startswith("second")
    with pytest.raises(InputError, match=r"no record with this id \(did you mean 'second'\?\)"):
        run(ShowConfig(input=paths[0], id="secnd"))


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for content, message in (
        ("", "is empty"),
        ("{", "not valid JSON"),
        ('{"a": 1}', "another kind"),
        ('{"graph": 1}', "record 1, field"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            run(ShowConfig(input=path))
    with pytest.raises(InputError, match="cannot read"):
        run(ShowConfig(input=tmp_path / "absent"))


@pytest.mark.parametrize("suffix", ["svg", "html"])
@pytest.mark.parametrize("which", [0, 1])
def test_files(paths: tuple[Path, Path], suffix: str, which: int, tmp_path: Path) -> None:
    out = tmp_path / f"drawing.{suffix}"
    assert run(ShowConfig(input=paths[which], out=out)) == 0
    text = out.read_text()
    assert "<script" not in text
    assert "\x1b" not in text or suffix == "html"
    assert not re.search(r"(?:src|href)=|url\((?!#)|@import", text)  # nothing from outside
    assert text.count("<svg") == 1


def test_an_unknown_format(paths: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.html or \.svg"):
        run(ShowConfig(input=paths[1], out=tmp_path / "x.pdf"))
    assert not (tmp_path / "x.pdf").exists()


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    root = ET.fromstring(svg)
    found = []
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        rect = group.find("{http://www.w3.org/2000/svg}rect")
        if rect is not None and float(rect.get("height", 0)) > 20:
            found.append(tuple(float(rect.get(key, 0)) for key in ("x", "y", "width", "height")))
    return found


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    (x, y, w, h), (a, b, c, d) = one, other
    return x < a + c and a < x + w and y < b + d and b < y + h


@settings(max_examples=60)
@given(graphs())
def test_any_graph_is_drawn_well_formed_and_without_overlaps(graph: Graph) -> None:
    svg = draw(graph, "any")
    found = boxes(svg)
    assert len(found) == len(graph.nodes)
    assert not any(overlap(one, other) for n, one in enumerate(found) for other in found[:n])
    width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())  # type: ignore[union-attr]
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in found)


def test_layers_follow_the_order_of_running() -> None:
    graph = label_trajectory(example()).graph
    layout = lay_out(graph, {node.id: 80.0 for node in graph.nodes})
    assert layout.home["t1"].layer < layout.home["t2"].layer < layout.home["g"].layer
    assert layout.home["e1"].layer < layout.home["t1"].layer
    assert layout.home["p1"] is layout.home["t2"]
    lanes = [edge for edge, blocks in layout.lanes.items() if blocks]
    assert [(edge.src, edge.dst) for edge in lanes] == [("t2", "e1")]


def test_all_types_and_relations_are_drawn() -> None:
    kinds = [Node(kind.value[:2] + str(n), kind, "x") for n, kind in enumerate(NodeType) if kind is not NodeType.TOOL_ARG]
    by = {node.type: node.id for node in kinds}
    edges = (
        Edge(by[NodeType.GOAL], by[NodeType.TOOL_CALL], Relation.REQUIRES),
        Edge(by[NodeType.GOAL], by[NodeType.ENTITY], Relation.TARGETS),
        Edge(by[NodeType.CONSTRAINT], by[NodeType.TOOL_CALL], Relation.BLOCKS),
        Edge(by[NodeType.TOOL_CALL], by[NodeType.POSTCONDITION], Relation.ENABLES),
        Edge(by[NodeType.TOOL_CALL], by[NodeType.ACTION], Relation.DEPENDS_ON),
        Edge(by[NodeType.CONSTRAINT], by[NodeType.PRECONDITION], Relation.CONTRADICTS),
        Edge(by[NodeType.TOOL_CALL], by[NodeType.ACTION], Relation.FOLLOWS),
    )
    svg = draw(Graph(tuple(kinds), edges))
    for relation in Relation:
        assert f">{relation}</text>" in svg
        assert f"1 {relation}<tspan" in svg


def test_pages_hold_the_whole_text() -> None:
    html = to_html(example())
    assert html.count("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;") >= 4
    assert "Error: &lt;script&gt;" in html
    assert to_svg(example()) == to_svg(example())
    assert json.loads(json.dumps(html)) == html
