"""A trial: one task x protocol x seed, recorded whole. The report is built from these and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from data.trajectory import Message
from graph_handoff.fact_recall import FactRecall
from graph_handoff.files import read_records, write_jsonl

FailureKind = Literal[
    "unreadable_handoff",  # the receiver could not read the text at all
    "invalid_graph",  # it read a graph that breaks a rule of the schema
    "unresolved_reference",  # a reference found nothing, or more than one thing, in the result it points into
    "guard_failed",  # a precondition did not hold
    "tool_error",  # the environment refused a call that the plan's own run did not see refused
    "not_recorded",  # only recordings answer, and none holds a call that was made
    "missing_call",  # a call of the delegation's plan was never made
    "wrong_argument",  # a call was made with another value
    "wrong_order",  # the right calls in an order that gives another state
    "wrong_report",  # the state is right, what was told to the user is not
    "wrong_state",  # none of the above explains why the final state differs
    "unfaithful",  # the handoff holds an identifier that its source does not
    "protocol_error",  # the protocol itself raised: recorded, counted, never hidden
    "executor_error",  # the executor could not go on: a model could not be asked
    "environment_error",  # the environment raised something that is not a tool's answer
]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Tokens(Frozen):
    """o200k tokens, counted exactly, of everything one delegation costs."""

    wire: int
    """The message as it is sent."""
    read: int
    """What the executor finally reads, after any decoding."""
    instructions: int
    """The protocol's executor instructions."""
    overhead: int = 0
    """Anything else spent before the message: a router's call, a correction."""

    @property
    def total(self) -> int:
        """What the receiving model pays for, plus the overhead: a format cannot look small by moving its cost."""
        return self.read + self.instructions + self.overhead


class StepRecord(Frozen):
    """What the executor did for one step of the plan it read."""

    id: str
    tool: str
    arguments: dict[str, Any] | None = None
    """With references resolved; None where they could not be."""
    status: Literal["ok", "tool_error", "not_recorded", "unresolved_reference", "guard_failed", "skipped"]
    detail: str = ""
    """The result or the error, cut to a readable length."""
    is_action: bool = False
    """A step of the executor's own, such as the report; no tool was called."""


class Usage(Frozen):
    """What one model was asked in a trial, in tokens as its provider counts them."""

    calls: int = 0
    input: int = 0
    cached: int = 0
    """Of the input, what was read from a cache."""
    output: int = 0


class Route(Frozen):
    """What a router decided about the delegation; its cost is in the trial's tokens."""

    router: str
    format: Literal["graph", "nl"]
    score: float = Field(ge=0, le=1)
    """The router's belief that the graph does better."""
    reason: str
    pattern: str | None = None
    """The task's computational pattern, where the router knows one."""
    failed: bool = False
    """The router could not be asked: the format is its default, and the decision cost no token."""


class Trial(Frozen):
    """One task x protocol x seed."""

    benchmark: str
    """As `eval.benchmarks.BENCHMARKS` names it."""
    task_id: str
    protocol: str
    seed: int
    executor: str
    """The executor's name: `scripted`, or that of one with a model."""
    task: str
    """The task's own words."""
    plan_text: str
    """The delegation's plan as the orchestrator held it (compact form), for the drill-down."""
    handoff: str
    """The text that was sent; empty where none was written."""
    form: str = ""
    """How it is read, as the handoff says: `compact`, `t5/compact`."""
    fingerprint: str | None = None
    """Of the tools that it was written for, where it needs the very same."""
    artefact: str | None = None
    """The hash of the model or table that wrote it."""
    fallback: str | None = None
    """The form that was sent because the protocol's own could not be."""
    decoded: str | None = None
    """What the executor reads where the protocol decodes first; None where it reads the text as it came."""
    instructions: str = ""
    """What the executor was told to read it."""
    tokens: Tokens
    steps: tuple[StepRecord, ...] = ()
    report: tuple[str, ...] = ()
    """What the executor told the user."""
    messages: tuple[Message, ...] = ()
    """The conversation of an executor that asks a model; a script has none."""
    usage: dict[str, Usage] = Field(default_factory=dict)
    """By model; empty where none was asked."""
    cost: float | None = Field(None, ge=0)
    """US dollars; None where no model was asked, or its price is not known."""
    latency: float | None = Field(None, ge=0)
    """Seconds spent on models; None where none was asked. What a script takes is in the log below `inspect/` alone: here it would
    give the same suite other bytes on every run."""
    stop: str = "done"
    """Why the executor stopped: by itself, or at a limit (`eval.executors.base.Stop`)."""
    reward: float = Field(ge=0, le=1)
    """The benchmark's own reward; 0 with a failure beside it where there was nothing to score."""
    reward_parts: dict[str, float] = Field(default_factory=dict)
    """The benchmark's parts: `DB`, `COMMUNICATE`."""
    failure: FailureKind | None = None
    detail: str = ""
    """One sentence on the failure."""
    graph_metrics: dict[str, float] = Field(default_factory=dict)
    """validity, node_f1, edge_f1, argument_name_f1, argument_value_f1, order_violations, repaired; empty without a graph."""
    facts: FactRecall | None = None
    figures: dict[str, float] = Field(default_factory=dict)
    """What the protocol measured of this handoff, such as the `achieved_rate` of a compressor."""
    pattern: str | None = None
    """The task's computational pattern by the rules of graph_handoff.routing.rules, whoever routed."""
    route: Route | None = None
    """The router's decision, where the protocol has one."""

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.benchmark, self.task_id, self.protocol, self.seed)


def write_trials(path: str | Path, trials: Iterable[Trial]) -> int:
    """Write trials in the order of their keys, so that the file does not depend on how they were scheduled."""
    return write_jsonl(path, (t.model_dump(mode="json") for t in sorted(trials, key=lambda t: t.key)))


def read_trials(path: str | Path) -> Iterator[Trial]:
    """Read trials. Raises InputError with the line and the field."""
    return read_records(path, Trial)
