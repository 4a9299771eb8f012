"""The made-up laboratory of `examples/own-traces`, as a real environment that recordings are compared with."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.environments.base import CallResult
from data.trajectory import Requestor
from graph_handoff.files import sha256_json

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "own-traces"
TRACES = FOLDER / "traces.jsonl"
TICKETS = ("report_fault", "request_training")
"""Tools whose tickets the laboratory numbers and does not keep."""


class LabEnvironment:
    """The laboratory as it was when each conversation began. Its schemas come without their hints: the recordings must tell."""

    name = "lab"

    def __init__(self) -> None:
        found = importlib.util.spec_from_file_location("own_traces_lab", FOLDER / "lab.py")
        assert found is not None and found.loader is not None
        self.module = importlib.util.module_from_spec(found)
        found.loader.exec_module(self.module)
        self.reset("")

    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        functions = [schema["function"] for schema in self.module.TOOLS]
        return tuple({key: value for key, value in function.items() if key != "annotations"} for function in functions)

    def fork(self) -> LabEnvironment:
        return LabEnvironment()

    def reset(self, task_id: str) -> None:
        self.lab = self.module.Lab()
        self.tickets: list[str] = []

    def call(self, name: str, arguments: Mapping[str, Any], requestor: Requestor = "assistant") -> CallResult:
        try:
            content = json.dumps(getattr(self.lab, name)(**arguments))
        except (self.module.RefusedError, AttributeError, KeyError, TypeError) as error:
            text = f"Error: {error}"
            return CallResult(text, error=True, content=text)
        if name in TICKETS:
            self.tickets.append(json.dumps([dict(arguments), content]))
        return CallResult(json.loads(content), content=content)

    def is_write(self, tool_name: str) -> bool:
        schemas = {schema["function"]["name"]: schema["function"] for schema in self.module.TOOLS}
        return tool_name in schemas and not schemas[tool_name]["annotations"]["readOnlyHint"]

    def state_hash(self) -> str:
        """Of all records, and of the tickets with what they say."""
        lab = self.lab
        return sha256_json([lab.members, lab.instruments, lab.slots, lab.bookings, lab.accounts, lab.count, self.tickets])
