"""A graph as one SVG: boxes coloured by node type, edges by relation, a legend; light and dark. All text is escaped."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import Any

from data.drawing.layout import ROW, Block, Layout, lay_out
from data.drawing.value_text import value_text
from graph_handoff.graph import Edge, Graph, Node
from graph_handoff.scalar import dumps
from graph_handoff.schema import NODE_MEANING, RELATIONS, NodeType, Relation

MAX_LABEL = 44
"""Characters of a box's text; the whole of it is in its tooltip."""
_CHARACTER = 6.7  # width of one, at the font size below
_PADDING = 20.0
_LEGEND_ROW = 20.0
_STUB = 14.0  # how far an edge leaves its box before it turns

# Hues that stay apart for the colour-blind, each with a light and a dark shade in STYLE.
_HUES = {
    NodeType.GOAL: 48,
    NodeType.CONSTRAINT: 330,
    NodeType.ENTITY: 280,
    NodeType.ACTION: 190,
    NodeType.PRECONDITION: 15,
    NodeType.POSTCONDITION: 95,
    NodeType.TOOL_CALL: 215,
    NodeType.TOOL_ARG: 0,
}
_LINES = {
    Relation.REQUIRES: ("#8a8f98", ""),
    Relation.TARGETS: ("#a06cd5", "2 4"),
    Relation.BLOCKS: ("#d1495b", ""),
    Relation.ENABLES: ("#5a9e3d", ""),
    Relation.DEPENDS_ON: ("#2f7ed8", ""),
    Relation.CONTRADICTS: ("#d1495b", "6 4"),
    Relation.FOLLOWS: ("#e08a1e", "8 4"),
}


def _style() -> str:
    rules = [
        "svg{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;--paper:#ffffff;--ink:#1c2430;--soft:#667085}",
        ".paper{fill:var(--paper)}text{fill:var(--ink)}.soft{fill:var(--soft)}",
        ".edge{fill:none;stroke-width:1.3}.rel{font-size:9px;paint-order:stroke;stroke:var(--paper);stroke-width:3px}",
        ".box rect{stroke-width:1.2}.step text{font-weight:600}",
        "g.box:hover rect{stroke-width:2.4}",
    ]
    dark = ["svg{--paper:#12161c;--ink:#e6e9ee;--soft:#98a2b3}"]
    for kind, hue in _HUES.items():
        saturation = 0 if kind is NodeType.TOOL_ARG else 70
        rules.append(f".{kind} rect{{fill:hsl({hue} {saturation}% 94%);stroke:hsl({hue} {saturation}% 45%)}}")
        dark.append(f".{kind} rect{{fill:hsl({hue} {saturation // 2}% 19%);stroke:hsl({hue} {saturation * 3 // 4}% 60%)}}")
    for relation, (colour, dash) in _LINES.items():
        dashes = f";stroke-dasharray:{dash}" if dash else ""
        rules.append(
            f".edge.{relation}{{stroke:{colour}{dashes}}}.rel.{relation}{{fill:{colour}}}.tip.{relation}{{fill:{colour}}}"
        )
    return "".join(rules) + "@media(prefers-color-scheme:dark){" + "".join(dark) + "}"


def draw(graph: Graph, title: str = "") -> str:
    """The SVG document of a valid graph. It needs nothing from outside."""
    labels = {node.id: node_label(node) for node in graph.nodes}
    widths = {node_id: len(shorten(text)) * _CHARACTER + _PADDING for node_id, text in labels.items()}
    layout = lay_out(graph, widths)
    legend, legend_width, legend_height = _legend(graph, layout.height)
    width, height = max(layout.width, legend_width), layout.height + legend_height
    name = escape(title or "graph")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{name}">',
        f"<title>{name}</title><style>{_style()}</style><defs>{''.join(map(_tip, Relation))}</defs>",
        '<rect class="paper" width="100%" height="100%"/>',
        *(_edge(edge, layout) for edge in graph.edges),
        *(_box(node, layout, labels[node.id]) for node in graph.nodes),
        *legend,
        "</svg>",
    ]
    return "\n".join(parts)


def shorten(text: str) -> str:
    """Cut to what a box holds."""
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"


def node_label(node: Node) -> str:
    """A node in one line: id, then what it says."""
    return f"{node.id}  {_says(node.value)}"


def _says(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"name", "value"}:
        return f"{value['name']} = {value_text(value['value'])}"
    if isinstance(value, dict) and set(value) == {"that", "equals"}:
        return f"{value_text(value['that'])} is {dumps(value['equals'])}"
    return value if isinstance(value, str) else value_text(value)


def _printable(text: str) -> str:
    return escape("".join(c if c.isprintable() else " " for c in text))


def _tip(relation: Relation) -> str:
    return (
        f'<marker id="tip-{relation}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="tip {relation}" d="M0 0.6 7.5 4 0 7.4z"/></marker>'
    )


def _box(node: Node, layout: Layout, label: str) -> str:
    left, right, middle = layout.row(node.id)
    kind = "step" if node.type in (NodeType.TOOL_CALL, NodeType.ACTION) else ""
    full = _printable(f"{node.type}: {label}")
    return (
        f'<g class="box {node.type} {kind}"><title>{full}</title>'
        f'<rect x="{left:.1f}" y="{middle - ROW / 2:.1f}" width="{right - left:.1f}" height="{ROW}" rx="6"/>'
        f'<text x="{left + 10:.1f}" y="{middle + 4:.1f}" xml:space="preserve">{_printable(shorten(label))}</text></g>'
    )


def _edge(edge: Edge, layout: Layout) -> str:
    path, x, y, anchor = _inner(edge, layout) if layout.home[edge.src] is layout.home[edge.dst] else _outer(edge, layout)
    reading = escape(RELATIONS[edge.relation].reading.format(src=edge.src, dst=edge.dst))
    return (
        f'<g><title>{reading}</title><path class="edge {edge.relation}" d="{path}" marker-end="url(#tip-{edge.relation})"/>'
        f'<text class="rel {edge.relation}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{edge.relation}</text></g>'
    )


def _inner(edge: Edge, layout: Layout) -> tuple[str, float, float, str]:
    """Within a block: along its left side."""
    left, _, start = layout.row(edge.src)
    _, _, end = layout.row(edge.dst)
    side = left - _STUB
    bend = 5 if end > start else -5
    path = f"M{left:.1f} {start:.1f}H{side + 5:.1f}Q{side:.1f} {start:.1f} {side:.1f} {start + bend:.1f}"
    path += f"V{end - bend:.1f}Q{side:.1f} {end:.1f} {side + 5:.1f} {end:.1f}H{left - 1:.1f}"
    return path, side - 3, end + 3, "end"


def _outer(edge: Edge, layout: Layout) -> tuple[str, float, float, str]:
    """Between blocks: out at the right of the source's box, through the lanes, into the destination's block."""
    _, right, start = layout.row(edge.src)
    home, target = layout.home[edge.src], layout.home[edge.dst]
    goes_up = target.layer <= home.layer
    turn = right + _STUB
    leave = home.top - 10 if goes_up else home.y + home.height + 10
    points = [(turn, leave)]
    for lane in layout.lanes[edge]:
        low, high = lane.y - 6, lane.y + lane.height + 6
        points += [(lane.middle, high), (lane.middle, low)] if goes_up else [(lane.middle, low), (lane.middle, high)]
    *entry, end = _entry(edge, target, layout, goes_up)
    points += entry
    bend = -6 if goes_up else 6
    path = f"M{right:.1f} {start:.1f}H{turn - 6:.1f}Q{turn:.1f} {start:.1f} {turn:.1f} {start + bend:.1f}L{turn:.1f} {leave:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        half = (y0 + y1) / 2
        path += f"L{x1:.1f} {y1:.1f}" if x0 == x1 else f"C{x0:.1f} {half:.1f} {x1:.1f} {half:.1f} {x1:.1f} {y1:.1f}"
    return path + end, turn + 4, start + 3, "start"


def _entry(edge: Edge, target: Block, layout: Layout, goes_up: bool) -> tuple[tuple[float, float], str]:
    """Where an edge comes to its destination's block, and the rest of its path.

    The outermost box is met at its lower or upper side, the edges beside each other in their order; another box from its right.
    """
    if target.nodes[-1 if goes_up else 0].id == edge.dst:
        coming = [e for e in layout.lanes if e.dst == edge.dst]
        x = target.x + target.width * (0.25 + 0.5 * (coming.index(edge) + 1) / (len(coming) + 1))
        return ((x, target.y + target.height + 2), "") if goes_up else ((x, target.top - 10), f"V{target.y - 2:.1f}")
    _, right, middle = layout.row(edge.dst)
    turn, bend = right + _STUB, 6 if goes_up else -6
    path = f"V{middle + bend:.1f}Q{turn:.1f} {middle:.1f} {turn - 6:.1f} {middle:.1f}H{right + 1:.1f}"
    return (turn, target.y + target.height + 10 if goes_up else target.top - 10), path


def _legend(graph: Graph, top: float) -> tuple[list[str], float, float]:
    """Boxes and lines for what is in the graph, its width and height."""
    kinds = [kind for kind in NodeType if any(node.type is kind for node in graph.nodes)]
    relations = [relation for relation in Relation if any(edge.relation is relation for edge in graph.edges)]
    parts = [f'<g transform="translate(24 {top:.0f})">']
    parts += [_legend_box(number, kind, graph) for number, kind in enumerate(kinds)]
    parts += [_legend_line(number, relation, graph) for number, relation in enumerate(relations)]
    return [*parts, "</g>"], 640.0, max(len(kinds), len(relations)) * _LEGEND_ROW + 24


def _legend_box(number: int, kind: NodeType, graph: Graph) -> str:
    y = number * _LEGEND_ROW
    count = sum(node.type is kind for node in graph.nodes)
    return (
        f'<g class="box {kind}"><rect x="0" y="{y:.0f}" width="22" height="13" rx="4"/></g>'
        f'<text x="30" y="{y + 11:.0f}">{count} {kind}<tspan class="soft" dx="8">{escape(NODE_MEANING[kind])}</tspan></text>'
    )


def _legend_line(number: int, relation: Relation, graph: Graph) -> str:
    y = number * _LEGEND_ROW
    count = sum(edge.relation is relation for edge in graph.edges)
    return (
        f'<path class="edge {relation}" d="M300 {y + 7:.0f}h30" marker-end="url(#tip-{relation})"/>'
        f'<text x="340" y="{y + 11:.0f}">{count} {relation}<tspan class="soft" dx="8">{escape(RELATIONS[relation].short)}'
        "</tspan></text>"
    )
