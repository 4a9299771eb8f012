"""A layered layout: which box goes where.

A step is drawn in one block with the nodes that belong to it alone (its arguments and conditions); every other node is a block of
its own. Blocks are put into layers by the order in which they run, an edge over several layers gets a place in each layer it
crosses, and the order within the layers is improved until few edges cross. Sizes are in SVG user units (pixels at 100 %).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from graph_handoff.graph import Edge, Graph, Node, predecessors
from graph_handoff.schema import RELATIONS, NodeType, Relation

ROW = 26.0
"""Height of a node."""
ROW_GAP = 6.0
SIDE = 74.0
"""Free space on either side of a block; edge labels are drawn there."""
LANE = 14.0
"""Width of an edge that crosses a layer."""
LAYER_GAP = 64.0
MARGIN = 56.0
_SWEEPS = 16

_ABOVE = (NodeType.TOOL_ARG, NodeType.PRECONDITION)
_STEPS = (NodeType.TOOL_CALL, NodeType.ACTION)


@dataclass
class Block:
    """Boxes that stand together, from top to bottom; without nodes it is the lane of an edge that passes."""

    id: str
    nodes: list[Node]
    width: float
    height: float
    layer: int = 0
    x: float = 0.0
    """Left edge."""
    y: float = 0.0
    """Top edge. The blocks of a layer stand on one line."""
    top: float = 0.0
    """Where the layer begins: over this line nothing of it stands."""

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass
class Layout:
    """The whole drawing."""

    blocks: list[Block]
    home: dict[str, Block]
    """Node id -> the block that holds it."""
    lanes: dict[Edge, list[Block]] = field(default_factory=dict)
    """The lanes of an edge between two blocks, from its source to its destination."""
    width: float = 0.0
    height: float = 0.0

    def row(self, node_id: str) -> tuple[float, float, float]:
        """Left, right and vertical middle of a node's box."""
        block = self.home[node_id]
        place = next(n for n, node in enumerate(block.nodes) if node.id == node_id)
        return block.x, block.x + block.width, block.y + place * (ROW + ROW_GAP) + ROW / 2


def lay_out(graph: Graph, widths: Mapping[str, float]) -> Layout:
    """Place every node. `widths` gives the width of each node's box by its id."""
    layout = _blocks(graph, widths)
    _set_layers(graph, layout)
    _add_lanes(graph, layout)
    layers = _by_layer(layout.blocks)
    neighbours = _neighbours(graph, layout)
    _order(layers, neighbours)
    _set_places(layers, neighbours, layout)
    return layout


def _blocks(graph: Graph, widths: Mapping[str, float]) -> Layout:
    types = {node.id: node.type for node in graph.nodes}
    owners: dict[str, set[str]] = {}
    for edge in graph.edges:
        if edge.relation in (Relation.REQUIRES, Relation.ENABLES) and types[edge.src] in _STEPS:
            owners.setdefault(edge.dst, set()).add(edge.src)
    members: dict[str, list[Node]] = {node.id: [node] for node in graph.nodes}
    for node in graph.nodes:
        owner = owners.get(node.id, set())
        if len(owner) == 1 and node.type in (*_ABOVE, NodeType.POSTCONDITION):
            members[next(iter(owner))].append(node)
            del members[node.id]
    blocks = []
    for block_id, nodes in members.items():
        own = nodes[0]
        nodes = [*(n for n in nodes if n.type in _ABOVE and n is not own), own]
        nodes += [n for n in members[block_id] if n.type is NodeType.POSTCONDITION and n is not own]
        height = len(nodes) * (ROW + ROW_GAP) - ROW_GAP
        blocks.append(Block(block_id, nodes, max(widths[n.id] for n in nodes), height))
    return Layout(blocks, {node.id: block for block in blocks for node in block.nodes})


def _set_layers(graph: Graph, layout: Layout) -> None:
    """Layer of each block: one below the lowest that runs before it.

    What nothing orders stands just above its first user, and so does an action that waits for nothing (a report of known values).
    """
    before: dict[str, set[str]] = {block.id: set() for block in layout.blocks}
    for node_id, earlier in predecessors(graph).items():
        own = layout.home[node_id].id
        before[own] |= {layout.home[other].id for other in earlier} - {own}
    layers: dict[str, int] = {}
    waiting = [block.id for block in layout.blocks]
    while waiting:
        ready = [b for b in waiting if before[b] <= layers.keys()]
        for block_id in ready or waiting[:1]:  # blocks of a valid graph can still wait for each other: one goes first
            layers[block_id] = 1 + max((layers[b] for b in before[block_id] if b in layers), default=-1)
        waiting = [b for b in waiting if b not in layers]
    users: dict[str, list[int]] = {}
    for edge in graph.edges:
        if RELATIONS[edge.relation].first is None:
            users.setdefault(layout.home[edge.dst].id, []).append(layers[layout.home[edge.src].id])
    after: dict[str, list[int]] = {}
    for block_id, earlier in before.items():
        for other in earlier:
            after.setdefault(other, []).append(layers[block_id])
    for block in layout.blocks:
        near = after if block.nodes[-1].type is NodeType.ACTION else {} if block.id in after else users
        block.layer = min(near[block.id]) - 1 if not before[block.id] and block.id in near else layers[block.id]
    lowest = min((block.layer for block in layout.blocks), default=0)
    for block in layout.blocks:
        block.layer -= lowest


def _add_lanes(graph: Graph, layout: Layout) -> None:
    """A lane in each layer that an edge crosses. Edges between the same two blocks share theirs."""
    shared: dict[tuple[str, str], list[Block]] = {}
    for edge in graph.edges:
        src, dst = layout.home[edge.src], layout.home[edge.dst]
        if src is dst:
            continue
        key = (src.id, dst.id)
        if key not in shared:
            step = 1 if dst.layer >= src.layer else -1
            between = range(src.layer + step, dst.layer, step)
            shared[key] = [Block(f"{src.id} {dst.id} {layer}", [], LANE, 0.0, layer) for layer in between]
            layout.blocks += shared[key]
        layout.lanes[edge] = shared[key]


def _by_layer(blocks: Iterable[Block]) -> list[list[Block]]:
    layers: dict[int, list[Block]] = {}
    for block in blocks:
        layers.setdefault(block.layer, []).append(block)
    return [layers[number] for number in sorted(layers)]


def _neighbours(graph: Graph, layout: Layout) -> dict[str, list[Block]]:
    found: dict[str, list[Block]] = {block.id: [] for block in layout.blocks}
    for edge in graph.edges:
        chain = [layout.home[edge.src], *layout.lanes.get(edge, []), layout.home[edge.dst]]
        for one, other in pairwise(chain):
            if one is not other:
                found[one.id].append(other)
                found[other.id].append(one)
    return found


def _order(layers: Sequence[list[Block]], neighbours: Mapping[str, list[Block]]) -> None:
    """Sort each layer by the mean place of its neighbours in the layer before it, downwards and upwards in turn."""
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers[1:] if down else layers[-2::-1]:
            place = {b.id: float(n) for blocks in layers for n, b in enumerate(blocks)}
            side = -1 if down else 1

            def mean(block: Block, place: dict[str, float] = place, side: int = side) -> float:
                near = [place[b.id] for b in neighbours[block.id] if (b.layer - block.layer) * side > 0]
                return sum(near) / len(near) if near else place[block.id]

            layer.sort(key=mean)


def _set_places(layers: Sequence[list[Block]], neighbours: Mapping[str, list[Block]], layout: Layout) -> None:
    top = MARGIN
    for layer in layers:
        height = max(block.height for block in layer)
        for block in layer:
            block.height = block.height if block.nodes else height
            block.x, block.y, block.top = -block.width / 2, top + height - block.height, top
        top += height + LAYER_GAP
    for _ in range(_SWEEPS):
        for layer in (*layers, *layers[::-1]):
            _pull(layer, neighbours)
    left = min((block.x for block in layout.blocks), default=0.0)
    for block in layout.blocks:
        block.x += SIDE - left
    right = max((block.x + block.width for block in layout.blocks), default=0.0)
    layout.width, layout.height = right + SIDE, top - LAYER_GAP + MARGIN


def _offsets(layer: Sequence[Block]) -> list[float]:
    """Left edges of blocks that stand side by side with no more than the space they need, the first at 0."""
    offsets = [0.0]
    for one, other in pairwise(layer):
        offsets.append(offsets[-1] + one.width + (SIDE if one.nodes else LANE / 2) + (SIDE if other.nodes else LANE / 2))
    return offsets


def _pull(layer: Sequence[Block], neighbours: Mapping[str, list[Block]]) -> None:
    """Move each block towards the mean of its neighbours, as far as the blocks beside it let it."""
    wanted = [
        sum(n.middle for n in neighbours[b.id]) / len(neighbours[b.id]) - b.width / 2 if neighbours[b.id] else b.x for b in layer
    ]
    offsets = _offsets(layer)
    leftmost, at = [], float("-inf")
    for place, offset in zip(wanted, offsets, strict=True):  # where wanted, but not over the one before
        at = max(at, place - offset)
        leftmost.append(at)
    at = float("inf")
    for number in range(len(layer) - 1, -1, -1):  # the same from the right; the mean of both keeps order and gaps
        at = min(at, wanted[number] - offsets[number])
        layer[number].x = (leftmost[number] + at) / 2 + offsets[number]
