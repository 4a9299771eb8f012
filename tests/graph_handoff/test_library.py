"""The library as the README shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import graph_handoff
from graph_handoff import Delegation, Plan, Reference, Result, Select, Step, Toolset, execute, load_protocol

SCHEMAS = [
    {"type": "function", "function": {"name": "get_order", "parameters": {"properties": {"order_id": {"type": "string"}}}}},
    {"name": "return_items", "parameters": {"properties": {"item_ids": {"type": "array", "items": {"type": "string"}}}}},
]


def call_my_tool(name: str, arguments: Mapping[str, Any]) -> Result:
    items = [{"name": "Desk Lamp", "item_id": "1"}, {"name": "Chair", "item_id": "2"}]
    return Result({"items": items} if name == "get_order" else dict(arguments))


@pytest.mark.parametrize("name", ["compact", "ngh"])
def test_a_plan_crosses_and_is_carried_out(name: str) -> None:
    tools = Toolset.from_schemas(SCHEMAS)
    lamp = Reference("t1", ("items", Select(((("name",), "Desk Lamp"),)), "item_id"))
    plan = Plan((Step("get_order", {"order_id": "#W6390527"}), Step("return_items", {"item_ids": [lamp]})))
    delegation = Delegation("case-1", "Return my desk lamp from order #W6390527.", tools, plan.to_graph())
    protocol = load_protocol(name)
    reading = protocol.decode(protocol.encode(delegation, seed=0), tools)
    done = execute(reading.plan, call_my_tool)
    assert [(s.status, s.value) for s in done.steps][1] == ("ok", {"item_ids": ["1"]})
    assert protocol.instructions(tools)


def test_every_public_name_is_there() -> None:
    assert all(getattr(graph_handoff, name) for name in graph_handoff.__all__)
    with pytest.raises(AttributeError):
        graph_handoff.nothing  # noqa: B018
