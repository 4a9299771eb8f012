"""The schema of an NGH graph: 8 node types, 7 relations, each relation's direction defined here and nowhere else.

The validator, the executor's instructions, the JSON Schema for constrained decoding and docs/graph.md are generated from the two
tables below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_NODES = 2_000
MAX_EDGES = 10_000


class NodeType(StrEnum):
    """The 8 node types."""

    GOAL = "goal"
    CONSTRAINT = "constraint"
    ENTITY = "entity"
    ACTION = "action"
    PRECONDITION = "precondition"
    POSTCONDITION = "postcondition"
    TOOL_CALL = "tool_call"
    TOOL_ARG = "tool_arg"


class Relation(StrEnum):
    """The 7 relations."""

    REQUIRES = "requires"
    TARGETS = "targets"
    BLOCKS = "blocks"
    ENABLES = "enables"
    DEPENDS_ON = "depends_on"
    CONTRADICTS = "contradicts"
    FOLLOWS = "follows"


NODE_MEANING: Mapping[NodeType, str] = {
    NodeType.GOAL: "what to achieve",
    NodeType.CONSTRAINT: "rule to keep",
    NodeType.ENTITY: "record concerned",
    NodeType.ACTION: "step of your own",
    NodeType.PRECONDITION: "must hold before",
    NodeType.POSTCONDITION: "holds after",
    NodeType.TOOL_CALL: "tool to call",
    NodeType.TOOL_ARG: "argument of a call",
}
"""One phrase a type; the executor's instructions are made of these."""

STEP_TYPES = frozenset({NodeType.TOOL_CALL, NodeType.ACTION})
"""What an executor executes."""
_CONDITIONS = frozenset({NodeType.PRECONDITION, NodeType.POSTCONDITION})
_CLAIMS = frozenset({NodeType.GOAL, NodeType.CONSTRAINT}) | _CONDITIONS


@dataclass(frozen=True)
class RelationRule:
    """How a relation reads and what it may join."""

    reading: str
    """A sentence with {src} and {dst}."""
    short: str
    """The same for the executor, in a few words."""
    first: str | None
    """Which end comes first in time: "src", "dst", or None where the relation orders nothing."""
    joins: frozenset[tuple[NodeType, NodeType]]
    """Allowed (source type, destination type)."""


def _pairs(*sides: tuple[Iterable[NodeType], Iterable[NodeType]]) -> frozenset[tuple[NodeType, NodeType]]:
    return frozenset((src, dst) for sources, targets in sides for src in sources for dst in targets)


RELATIONS: Mapping[Relation, RelationRule] = {
    Relation.REQUIRES: RelationRule(
        "{src} needs {dst}: {dst} must be known, or hold, before {src} starts",
        "src needs dst first",
        "dst",
        _pairs(
            ({NodeType.GOAL}, STEP_TYPES | _CONDITIONS),
            (STEP_TYPES, {NodeType.TOOL_ARG, NodeType.PRECONDITION, NodeType.ENTITY}),
        ),
    ),
    Relation.TARGETS: RelationRule(
        "{src} acts on, or is about, {dst}",
        "src acts on dst",
        None,
        _pairs(
            ({NodeType.GOAL, NodeType.CONSTRAINT} | STEP_TYPES | _CONDITIONS, {NodeType.ENTITY}),
            ({NodeType.CONSTRAINT}, {NodeType.GOAL} | STEP_TYPES),
        ),
    ),
    Relation.BLOCKS: RelationRule(
        "while {src} holds, {dst} must not start",
        "src forbids dst",
        None,
        _pairs(({NodeType.CONSTRAINT} | _CONDITIONS, {NodeType.GOAL} | STEP_TYPES)),
    ),
    Relation.ENABLES: RelationRule(
        "{src} brings about {dst}: {dst} comes after {src}",
        "src first, then dst",
        "src",
        _pairs((STEP_TYPES, STEP_TYPES | _CONDITIONS), (_CONDITIONS, STEP_TYPES)),
    ),
    Relation.DEPENDS_ON: RelationRule(
        "{src} depends on a result of {dst}: {dst} runs first",
        "dst first, src uses its result",
        "dst",
        _pairs((STEP_TYPES | {NodeType.TOOL_ARG, NodeType.PRECONDITION}, STEP_TYPES)),
    ),
    Relation.CONTRADICTS: RelationRule(
        "{src} and {dst} cannot both hold",
        "not both",
        None,
        _pairs((_CLAIMS, _CLAIMS)),
    ),
    Relation.FOLLOWS: RelationRule(
        "{src} runs after {dst}, although it uses nothing of it",
        "dst first, then src",
        "dst",
        _pairs((STEP_TYPES, STEP_TYPES)),
    ),
}
"""The direction of every relation. The example in arXiv 2608.25277 uses depends_on the other way round; see `Graph.from_json`."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a graph, for constrained decoding (a tool's input schema, a response format)."""
    text = {"type": "string"}
    node = {"id": text, "type": {"type": "string", "enum": [t.value for t in NodeType]}, "value": {}}
    edge = {"src": text, "dst": text, "relation": {"type": "string", "enum": [r.value for r in Relation]}}
    return {
        "type": "object",
        "properties": {"nodes": _array_of(node, MAX_NODES), "edges": _array_of(edge, MAX_EDGES)},
        "required": ["nodes", "edges"],
        "additionalProperties": False,
    }


def _array_of(properties: dict[str, Any], limit: int) -> dict[str, Any]:
    item = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "array", "items": item, "maxItems": limit}


def executor_instructions() -> str:
    """What an executor must be told to read a graph: every type, every relation, references, the order."""
    types = ", ".join(f"{t.value} ({meaning})" for t, meaning in NODE_MEANING.items())
    relations = ", ".join(f"{r.value} ({rule.short})" for r, rule in RELATIONS.items())
    return (
        f"The task is a graph. Nodes: {types}. Edges src->dst: {relations}. "
        'A value {"$ref":"t3.items[name=Lamp].id"} is taken from the result of t3: in items, the one whose name is Lamp, '
        "its id. Run the calls in topological order."
    )


def markdown() -> str:
    """The two tables as docs/graph.md shows them."""
    lines = ["| node type | meaning |", "|---|---|", *(f"| `{t.value}` | {m} |" for t, m in NODE_MEANING.items()), ""]
    lines += ["| relation | reads | runs first | joins |", "|---|---|---|---|"]
    for relation, rule in RELATIONS.items():
        reading = rule.reading.format(src="*src*", dst="*dst*")
        joins = ", ".join(sorted(f"{a.value} → {b.value}" for a, b in rule.joins))
        lines.append(f"| `{relation.value}` | {reading} | {rule.first or '–'} | {joins} |")
    return "\n".join(lines) + "\n"
