"""A delegation: what the orchestrator wants done, with the tools that both sides know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graph_handoff.errors import InputError
from graph_handoff.fingerprint import mark_of, words_of
from graph_handoff.graph import Graph

_NAME_WORD = re.compile(r"[^\W_]+")
_QUALIFIED = re.compile(r"\.|__|::|/")
_IDENTIFIED = re.compile(r"([^\W_]+)_(?:ids?|number|code|key)$")


@dataclass(frozen=True)
class Tool:
    """A tool's schema: name, description, JSON Schema of its parameters."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """In the order of the schema, which is the order of positional arguments."""
        return tuple(self.parameters.get("properties") or ())

    @cached_property
    def action(self) -> str:
        """The first word of its name, in lower case and without the application that may stand before it: `cancel` of
        `shop::cancel_order`. Empty where the name has no word."""
        words = _NAME_WORD.findall(_QUALIFIED.split(self.name)[-1])
        return words[0].lower() if words else ""

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """What its parameters identify: `order` where one is `order_id`."""
        found = map(_IDENTIFIED.search, self.parameter_names)
        return tuple(match.group(1) for match in found if match)

    def schema_of(self, parameter: str) -> Mapping[str, Any]:
        """The schema of one parameter, `$ref`s within the tool followed; empty where it has none."""
        return self.follow((self.parameters.get("properties") or {}).get(parameter) or {})

    def follow(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema that a `$ref` into this tool's `$defs` stands for, or the schema itself."""
        target = schema.get("$ref", "")
        found = (self.parameters.get("$defs") or {}).get(target.rsplit("/", 1)[-1]) if target else None
        return found if found is not None else schema


class Toolset(Mapping[str, Tool]):
    """Tools by name, with short names that both sides derive alike."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}

    @classmethod
    def from_schemas(cls, schemas: Iterable[Mapping[str, Any]]) -> Toolset:
        """From OpenAI's function form, with or without the outer {type: function, function: ...}. Raises InputError."""
        tools = []
        for number, schema in enumerate(schemas):
            inner = schema.get("function", schema) if isinstance(schema, Mapping) else schema
            if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
                raise InputError("a tool schema needs a name", record=number, found=schema)
            parameters = inner.get("parameters") or {}
            if not isinstance(parameters, Mapping) or not isinstance(parameters.get("properties") or {}, Mapping):
                raise InputError("not a JSON Schema of parameters", record=number, field=inner["name"], found=parameters)
            tools.append(Tool(inner["name"], inner.get("description") or "", parameters))
        return cls(tools)

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    @cached_property
    def short_names(self) -> Mapping[str, str]:
        """Full name -> the fewest consecutive words of it that occur in no other tool's name; the name itself where none do."""
        words = {name: name.split("_") for name in self._tools}
        runs = {name: {"_".join(run) for run in _runs(parts)} for name, parts in words.items()}
        result = {}
        for name, parts in words.items():
            taken = set().union(*(other for key, other in runs.items() if key != name))
            free = [run for run in _runs(parts) if run and run[0] and "_".join(run) not in taken]
            best = min(free, key=lambda run: (len(run), len("_".join(run)), run), default=parts)
            result[name] = "_".join(best)
        return result

    @cached_property
    def full_names(self) -> Mapping[str, str]:
        """Short name -> full name."""
        return {short: name for name, short in self.short_names.items()}

    @cached_property
    def marks(self) -> Mapping[str, str]:
        """Tool -> eight hex digits that change with whatever changes how a handoff is read (`graph_handoff.fingerprint`)."""
        return {name: mark_of(name, tool.parameters) for name, tool in self._tools.items()}

    @cached_property
    def fingerprint(self) -> str:
        """Two words for all of the tools, in whatever order they are listed."""
        return words_of(self.marks)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that both sides know: tools' names, in full and short, those of parameters at any depth, values of enums."""
        found = {*self, *self.short_names.values()}
        waiting: list[Any] = [tool.parameters for tool in self.values()]
        while waiting:
            schema = waiting.pop()
            if isinstance(schema, list):
                waiting += schema
            elif isinstance(schema, Mapping):
                found.update(schema.get("properties") or ())
                found.update(value for value in schema.get("enum") or () if isinstance(value, str))
                waiting += schema.values()
        return frozenset(found)


def _runs(parts: list[str]) -> list[list[str]]:
    return [parts[i:j] for i in range(len(parts)) for j in range(i + 1, len(parts) + 1)]


@dataclass(frozen=True)
class Delegation:
    """Task, tools, context and the plan's graph."""

    id: str
    task: str
    """The task in its author's words."""
    tools: Toolset
    graph: Graph = field(default_factory=lambda: Graph((), ()))
    """What the orchestrator has decided, as a graph; empty where it has decided nothing yet: a router needs none."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """What else the executor must know; structured, and only what is needed."""
    prose: str | None = None
    """The plan as the orchestrator wrote it in words, where it did."""

    def __post_init__(self) -> None:
        if not isinstance(self.tools, Toolset):
            raise TypeError("the tools of a delegation are a Toolset: Toolset.from_schemas(...) makes one of OpenAI's schemas")
