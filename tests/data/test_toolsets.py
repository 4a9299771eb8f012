"""Toolsets: named by their content, stored once, refused where they are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from data.labels.record import label_line
from data.toolsets import MissingToolsetError, ToolsetStore, as_function, read_tools, toolset_hash
from data.trajectory import read_trajectories
from graph_handoff.errors import InputError

PARAMETERS = {"type": "object", "properties": {"to": {"type": "string"}, "from": {"type": "string"}}}
OPENAI = {"type": "function", "function": {"name": "move", "description": "Moves.", "parameters": PARAMETERS}}
FORMS: dict[str, dict[str, Any]] = {
    "openai": OPENAI,
    "bare": OPENAI["function"],
    "mcp": {"name": "move", "description": "Moves.", "inputSchema": PARAMETERS},
    "anthropic": {"name": "move", "description": "Moves.", "input_schema": PARAMETERS},
    "responses": {"type": "function", "name": "move", "description": "Moves.", "parameters": PARAMETERS},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_schema_is_one_toolset(form: str, tmp_path: Path) -> None:
    assert as_function(FORMS[form]) == OPENAI
    store = ToolsetStore(tmp_path)
    assert store.add([FORMS[form]]) == toolset_hash([OPENAI])
    assert store.toolset(toolset_hash([OPENAI]))["move"].parameter_names == ("to", "from")


def test_the_order_of_tools_and_keys_is_part_of_the_name() -> None:
    turned = {"name": "move", "description": "Moves.", "parameters": {**PARAMETERS, "properties": {"from": {}, "to": {}}}}
    assert len({toolset_hash(tools) for tools in ([OPENAI], [turned], [OPENAI, turned], [turned, OPENAI])}) == 4


def test_a_toolset_is_stored_once_and_copied_beside_what_uses_it(tmp_path: Path) -> None:
    first, second = ToolsetStore.beside(tmp_path / "a" / "x.jsonl"), ToolsetStore.beside(tmp_path / "b" / "y.jsonl")
    name = first.add([OPENAI])
    assert first.add([FORMS["mcp"]]) == name
    first.copy([name], second)
    assert [path.name for path in (tmp_path / "b" / "toolsets").iterdir()] == [f"{name}.json"]
    assert second.schemas(name) == (OPENAI,)


def test_a_toolset_that_is_missing_or_changed_is_an_error(tmp_path: Path) -> None:
    store = ToolsetStore(tmp_path)
    with pytest.raises(InputError, match="copy the folder `toolsets/`"):
        store.toolset("0" * 64)
    name = store.add([OPENAI])
    store.path(name).write_text(store.path(name).read_text().replace("Moves", "Removes"))
    with pytest.raises(InputError, match="changed or damaged"):
        store.toolset(name)


@pytest.mark.parametrize("tools", [[7], [{"type": "web_search"}], [{"name": "a", "parameters": "none"}]])
def test_what_is_no_schema_is_refused_and_not_stored(tools: list[Any], tmp_path: Path) -> None:
    with pytest.raises(InputError):
        ToolsetStore(tmp_path).add(tools)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrap", [lambda tools: tools, lambda tools: {"tools": tools}], ids=["a list", "an answer of MCP"])
def test_tools_are_read_from_a_file(wrap: Any, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(wrap([FORMS["mcp"], {"name": "look", "input_schema": {}}])))
    assert [schema["function"]["name"] for schema in read_tools(path)] == ["move", "look"]
    path.write_text(json.dumps(wrap([{"name": "move", "parameters": []}, {"name": 5}])))
    with pytest.raises(InputError, match=r"tools\.json, record 1: is not a tool schema"):
        read_tools(path)
    path.write_text('"no"')
    with pytest.raises(InputError, match="must hold a list"):
        read_tools(path)


def test_a_json_rpc_response_is_read_as_its_result(tmp_path: Path) -> None:
    tools = [{"name": "find", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}}]
    forms = [tools, {"tools": tools}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}]
    read = []
    for number, form in enumerate(forms):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(form))
        read.append(read_tools(path))
    assert read[0] == read[1] == read[2]
    assert read[0][0]["function"]["name"] == "find"


def test_a_missing_toolset_ends_labelling_and_is_no_fault_of_the_record(tmp_path: Path) -> None:
    trajectory = {
        "id": "t/1",
        "source": "openai",
        "task": {"id": "1", "text": "Find it.", "domain": "d"},
        "messages": [{"role": "user", "content": "Find it."}],
        "toolset": "0" * 64,
    }
    with pytest.raises(MissingToolsetError, match=r"toolsets/0+\.json: cannot read"):
        label_line(json.dumps(trajectory).encode(), 1, "task", True, ToolsetStore(tmp_path))


@pytest.mark.parametrize(("changes", "message"), [({"tools": []}, "field tools: unknown field"), ({"task": None}, "field task")])
def test_a_file_of_another_version_is_told_as_such(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    record = {"id": "t/1", "source": "openai", "task": {"id": "1", "text": "x", "domain": "d"}, "messages": [], **changes}
    path = tmp_path / "trajectories.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(InputError, match=message):
        list(read_trajectories(path))
