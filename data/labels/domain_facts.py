"""What is known about a trajectory's tools: the order of their parameters, their fixed words, and which of them write."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from data.environments import ENVIRONMENTS, load_environment
from data.trajectory import Trajectory
from graph_handoff.delegation import Tool, Toolset
from graph_handoff.errors import MissingDependencyError
from graph_handoff.scalar import dumps, loads

_READS = frozenset(
    {"get", "find", "list", "search", "calculate", "check", "count", "describe", "fetch", "is", "can", "has"}
    | {"look", "lookup", "query", "read", "show", "think", "transfer", "view"}
)
"""First words of names of tools that change nothing, where no environment tells."""
_FIRST_WORD = re.compile(r"[A-Z]?[a-z]+")
_QUOTED = re.compile(r"(?<!\w)'([^'\n]{1,60})'(?!\w)|\"([^\"\n]{1,60})\"")


@dataclass(frozen=True)
class Facts:
    """Tools by name; the names of those that write, where an environment tells; tasks' splits, where a benchmark tells."""

    tools: Toolset = field(default_factory=Toolset)
    kinds: Mapping[str, bool] = field(default_factory=dict)
    """Tool -> whether it writes."""
    splits: Mapping[str, Literal["train", "test"]] = field(default_factory=dict)
    """Task id -> its part of the benchmark."""
    note: str | None = None
    """What is missing, in a sentence."""

    def writes(self, tool: str) -> bool:
        """Whether a call of this tool may change something; by its name's first word where nothing else tells."""
        known = self.kinds.get(tool)
        if known is not None:
            return known
        first = _FIRST_WORD.match(tool.rsplit(".", 1)[-1])
        return first is None or first.group().lower() not in _READS

    def in_order(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments in the order of the tool's schema; those it does not know follow as they came."""
        known = self.tools[tool].parameter_names if tool in self.tools else ()
        ordered = {name: arguments[name] for name in known if name in arguments}
        return ordered if len(ordered) == len(arguments) else {**ordered, **arguments}

    @functools.cached_property
    def fixed_words(self) -> Mapping[str, frozenset[str | float]]:
        """Tool -> values that its own schema names: enumerations, defaults, and words in quotes in its descriptions."""
        return {name: frozenset(_fixed(tool)) for name, tool in self.tools.items()}


def _fixed(tool: Tool) -> Iterator[str | float]:
    text = f"{tool.description}\n{_descriptions(tool.parameters)}"
    yield from (first or second for first, second in _QUOTED.findall(text))
    yield from _enumerated(tool.parameters)


def _descriptions(schema: Any) -> str:
    if isinstance(schema, Mapping):
        own = [schema["description"]] if isinstance(schema.get("description"), str) else []
        return "\n".join([*own, *(_descriptions(value) for value in schema.values())])
    return "\n".join(map(_descriptions, schema)) if isinstance(schema, list) else ""


def _enumerated(schema: Any) -> Iterator[str | float]:
    if isinstance(schema, Mapping):
        named = [*schema["enum"]] if isinstance(schema.get("enum"), list) else []
        named += [schema[key] for key in ("const", "default") if key in schema]
        yield from (value for value in named if isinstance(value, (str, int, float)) and not isinstance(value, bool))
        for value in schema.values():
            yield from _enumerated(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _enumerated(value)


def facts_of(trajectory: Trajectory) -> Facts:
    """From the trajectory's own schemas, and from the benchmark of its domain where that is installed."""
    if trajectory.tools:
        return _of_schemas(dumps(trajectory.tools), trajectory.task.domain)
    return _of_domain(trajectory.task.domain)


@functools.lru_cache(maxsize=64)
def _of_schemas(text: str, domain: str) -> Facts:
    known = _of_domain(domain)
    return Facts(Toolset.from_schemas(loads(text)), known.kinds, known.splits)


@functools.cache
def _of_domain(domain: str) -> Facts:
    name = f"tau2-{domain}"
    if name not in ENVIRONMENTS:
        return Facts()
    try:
        environment = load_environment(name)
    except MissingDependencyError:
        return Facts(note=f"the benchmark of {domain} is not installed: which tools write was told by their names")
    schemas = (*environment.tools, *environment.user_tools)
    kinds = {schema["name"]: environment.is_write(schema["name"]) for schema in schemas}
    return Facts(Toolset.from_schemas(schemas), kinds, {task.id: task.split for task in environment.tasks()})
