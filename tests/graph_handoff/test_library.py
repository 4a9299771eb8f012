"""The library as the README shows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import graph_handoff
from graph_handoff import Delegation, Plan, Reference, Result, Select, Step, Toolset, execute, load_protocol

ROOT = Path(__file__).parents[2]
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
    assert sorted(graph_handoff.__all__) == sorted(graph_handoff._HOMES)
    with pytest.raises(AttributeError):
        graph_handoff.nothing  # noqa: B018


def example(page: str) -> str:
    """The first Python block of a page."""
    code = re.search(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert code is not None
    return code[1]


USE = """
from typing import assert_type
import graph_handoff
from graph_handoff import *

protocol = load_protocol("compact")
assert_type(protocol, Protocol)
assert_type(protocol.decode("x", Toolset.from_schemas([])), Reading)
assert_type(load_router("rules"), Router)
assert_type(load_router("rules").route(Delegation("a", "b", Toolset.from_schemas([]))), Decision)
assert_type(parse_reference("$t1.id"), Reference)
errors: list[type[HandoffError]] = [InputError, CodecError, GraphError, ConfigError, MissingDependencyError]
"""


@pytest.mark.slow
def test_type_checkers_see_the_library(tmp_path: Path) -> None:
    agent = "from typing import Any\nmy_tools: dict[str, Any] = {}\nmy_openai_tool_schemas: list[dict[str, Any]] = []\n"
    (tmp_path / "use.py").write_text(USE)
    (tmp_path / "readme.py").write_text(agent + example("README.md"))
    (tmp_path / "page.py").write_text(example("graph_handoff/README.md"))
    (tmp_path / "wrong.py").write_text("import graph_handoff\ngraph_handoff.nothing\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--allow-untyped-defs", "--allow-untyped-calls"]
    command += ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    command += [str(tmp_path / name) for name in ("use.py", "readme.py", "page.py", "wrong.py")]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment).stdout
    assert told.splitlines()[0].startswith("wrong.py:2: error: Module has no attribute"), told
    assert told.count("error:") == 1, told
