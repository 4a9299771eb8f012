"""How close a graph is to the graph it should be.

Ids carry no meaning, so the steps of the two graphs are paired first (`_pair`): equal calls with each other, the remaining ones
of a tool by occurrence, the first with the first. References are then compared by what they point to.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from graph_handoff.errors import GraphError
from graph_handoff.graph import Graph, node_references, step_needs, step_order, validate
from graph_handoff.reference import from_json, references, rename, to_json
from graph_handoff.schema import NodeType, Relation

METRICS = ("validity", "node_f1", "edge_f1", "argument_name_f1", "argument_value_f1", "order_violations")

Labels = dict[str, str]
"""A node's id -> a name that its partner in the other graph has, too."""


def compare(predicted: Graph | None, gold: Graph) -> dict[str, float]:
    """The metrics of `METRICS`, as floats. None, or a graph that breaks a rule of the schema, scores 0 in all of them.

    - `validity`: 1 for a valid graph, else 0.
    - `node_f1`: nodes as a multiset of (type, value).
    - `edge_f1`: edges as a multiset of (source, relation, destination); a step as an end is the step it is paired with.
    - `argument_name_f1`, `argument_value_f1`: arguments as a multiset of (paired step, name[, value]).
    - `order_violations`: pairs of steps of which the gold graph's second needs the first, both present, that run in the other
      order. A missing step is no violation: the F1 scores count it. 0 says nothing where `validity` is 0.

    F1 = 2 |common| / (|predicted| + |gold|), 1 where both are empty; it is symmetric.
    """
    if predicted is None or not _is_valid(predicted):
        return dict.fromkeys(METRICS, 0.0)
    mine, theirs = _View(predicted), _View(gold)
    _pair(mine, theirs)
    return {
        "validity": 1.0,
        "node_f1": _f1(mine.nodes(), theirs.nodes()),
        "edge_f1": _f1(mine.edges(), theirs.edges()),
        "argument_name_f1": _f1(mine.argument_names(), theirs.argument_names()),
        "argument_value_f1": _f1(mine.argument_values(), theirs.argument_values()),
        "order_violations": float(_order_violations(mine, theirs)),
    }


def _is_valid(graph: Graph) -> bool:
    try:
        validate(graph)
    except GraphError:
        return False
    return True


def _f1(predicted: Iterable[Hashable], gold: Iterable[Hashable]) -> float:
    left, right = Counter(predicted), Counter(gold)
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0


class _View:
    """A valid graph, read for comparison. `labels` fills up as its steps are paired."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.by_id = {node.id: node for node in graph.nodes}
        self.values = {n.id: from_json(n.value) if isinstance(n.value, (dict, list)) else n.value for n in graph.nodes}
        self.order = step_order(graph)
        self.needs = step_needs(graph)
        self.arguments: dict[str, list[str]] = {step: [] for step in self.order}
        for edge in graph.edges:
            if edge.relation is Relation.REQUIRES and edge.src in self.needs and self.type(edge.dst) is NodeType.TOOL_ARG:
                self.arguments[edge.src].append(edge.dst)
        self.uses = {step: {r.node for a in args for r in references(self.values[a])} for step, args in self.arguments.items()}
        self.colours = _colours(graph)
        self.labels: Labels = {}

    def type(self, node_id: str) -> NodeType:
        return self.by_id[node_id].type

    def open_steps(self, *, ready: bool) -> list[str]:
        """Unpaired steps in running order; with `ready`, those whose arguments refer to paired steps only."""
        return [s for s in self.order if s not in self.labels and (not ready or self.uses[s] <= self.labels.keys())]

    def tool(self, step: str) -> Hashable:
        return self.type(step), self.by_id[step].value

    def call(self, step: str) -> Hashable:
        """The call with its arguments, references by their labels."""
        return self.tool(step), tuple(sorted(self.text(argument) for argument in self.arguments[step]))

    def place(self, step: str) -> Hashable:
        """The call and all that surrounds it."""
        return self.call(step), self.colours[step], tuple(sorted(self.labels.get(other, "") for other in self.needs[step]))

    def text(self, node_id: str) -> str:
        return _canonical(to_json(rename(self.values[node_id], self.labels)))

    def key(self, node_id: str) -> Hashable:
        """A node as an end of an edge."""
        if node_id in self.needs:
            return self.labels[node_id]
        return self.type(node_id), self.text(node_id)

    def nodes(self) -> list[Hashable]:
        return [self.tool(n.id) if n.id in self.needs else self.key(n.id) for n in self.graph.nodes]

    def edges(self) -> list[Hashable]:
        return [(self.key(e.src), e.relation, self.key(e.dst)) for e in self.graph.edges]

    def argument_names(self) -> list[Hashable]:
        return [(self.labels[s], self.values[a]["name"]) for s, arguments in self.arguments.items() for a in arguments]

    def argument_values(self) -> list[Hashable]:
        return [(self.labels[s], self.text(a)) for s, arguments in self.arguments.items() for a in arguments]


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _pair(left: _View, right: _View) -> None:
    """Give every step of both graphs a label; two steps are a pair where they share one.

    The first way that finds a partner for any step is taken, then all are tried again, because a pair makes more references
    comparable: steps with equal calls in equal surroundings; steps with equal calls; of the remaining calls of each tool,
    the first in running order, those first whose references are known.
    """
    while True:
        for label, ready in ((_View.place, True), (_View.call, True), (_View.tool, True), (_View.tool, False)):
            if _match(left, right, label, ready=ready, one_each=label is _View.tool):
                break
        else:
            break
    for sign, view in (("-", left), ("+", right)):
        view.labels.update({step: f"{sign}{step}" for step in view.open_steps(ready=False)})


def _match(left: _View, right: _View, key: Callable[[_View, str], Hashable], *, ready: bool, one_each: bool) -> bool:
    """Pair unpaired steps of equal keys, in running order; with `one_each`, only the first of each key."""
    waiting: dict[Hashable, list[str]] = {}
    for step in right.open_steps(ready=ready):
        waiting.setdefault(key(right, step), []).append(step)
    pairs: list[tuple[str, str]] = []
    used: set[Hashable] = set()
    for step in left.open_steps(ready=ready):
        own = key(left, step)
        if waiting.get(own) and not (one_each and own in used):
            pairs.append((step, waiting[own].pop(0)))
            used.add(own)
    for number, (mine, other) in enumerate(pairs, len(left.labels)):
        left.labels[mine] = right.labels[other] = f"={number}"
    return bool(pairs)


def _colours(graph: Graph) -> dict[str, int]:
    """For each node a number that depends on its content and on all it is joined to, and on no id or listing order.

    Colour refinement (Weisfeiler and Leman 1968): a node's colour takes in its neighbours' until no class is divided any more.
    It tells apart steps that make the same call for different purposes. Equal within one run of the program.
    """
    blank = dict.fromkeys((node.id for node in graph.nodes), "")
    joined: dict[str, list[tuple[str, str]]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        joined[edge.src].append((f"{edge.relation.value}>", edge.dst))
        joined[edge.dst].append((f"{edge.relation.value}<", edge.src))
    for node in graph.nodes:
        for reference in node_references(node):
            joined[node.id].append((str(rename(reference, blank)), reference.node))
            joined[reference.node].append((f"used by {rename(reference, blank)}", node.id))
    colours: dict[str, int] = {}
    for node in graph.nodes:
        value = to_json(rename(from_json(node.value), blank)) if isinstance(node.value, (dict, list)) else node.value
        colours[node.id] = hash((node.type, _canonical(value)))
    classes = 0
    while len(set(colours.values())) > classes:
        classes = len(set(colours.values()))
        colours = {
            node_id: hash((colours[node_id], tuple(sorted((how, colours[other]) for how, other in joins))))
            for node_id, joins in joined.items()
        }
    return colours


def _order_violations(predicted: _View, gold: _View) -> int:
    place = {predicted.labels[step]: number for number, step in enumerate(predicted.order)}
    pairs = [(gold.labels[first], gold.labels[second]) for second, needs in gold.needs.items() for first in needs]
    return sum(first in place and second in place and place[first] > place[second] for first, second in pairs)
