"""The scripted executor: deterministic, no model.

It reads a handoff as its protocol defines, resolves references in the benchmark's real environment, and is scored by the
benchmark's own scorer. It measures what a format preserves, not how clever a model is.
"""

from __future__ import annotations

from typing import Any

from data.environments.base import Environment, EnvironmentCallError, Score
from eval.failures import Findings, explain
from eval.trial import FactRecall, FailureKind, Route, StepRecord, Tokens, Trial
from graph_handoff.codec import load_codec
from graph_handoff.delegation import Delegation
from graph_handoff.errors import CodecError, GraphError, HandoffError, UnfaithfulError
from graph_handoff.execution import Execution, execute
from graph_handoff.fact_recall import recall
from graph_handoff.faithfulness import sources_of, unfaithful
from graph_handoff.graph_metrics import compare
from graph_handoff.handoff import Handoff
from graph_handoff.plan import Plan
from graph_handoff.protocols import Protocol, Reading
from graph_handoff.protocols.prose.protocol import Prose
from graph_handoff.routing import Decision
from graph_handoff.routing.rules import pattern_of
from graph_handoff.scalar import dumps
from graph_handoff.tokens import count_tokens

MAX_SHOWN = 400  # characters of a result that a record keeps


class ScriptedExecutor:
    """Carries out the handoffs of one benchmark, one at a time, in an environment of its own."""

    name = "scripted"

    def __init__(self, benchmark: str, environment: Environment) -> None:
        self.benchmark, self.environment = benchmark, environment
        self._expected: dict[str, Execution] = {}
        self._seen: dict[tuple[str, str, str, str], Trial] = {}

    def trial(self, delegation: Delegation, protocol: Protocol, label: str, seed: int) -> Trial:
        """One trial. What a protocol or an environment raises is a recorded failure.

        A handoff that reads as another seed's did is not carried out again: nothing here draws a random number.
        """
        record = _Record(self.benchmark, delegation, label, seed)
        try:
            record.handoff = protocol.encode(delegation, seed)
        except UnfaithfulError as error:
            return record.failed("unfaithful", f"encode: {error}")
        except HandoffError as error:
            return record.failed("protocol_error", f"encode: {error}")
        key = (delegation.id, label, record.handoff.form, record.handoff.text)
        if key not in self._seen:
            self._seen[key] = self._receive(record, protocol)
        return self._seen[key].model_copy(update={"seed": seed})

    def _receive(self, record: _Record, protocol: Protocol) -> Trial:
        delegation = record.delegation
        handoff = record.handoff
        instructions = protocol.instructions_for(handoff, delegation.tools)
        wire, overhead = handoff.tokens, handoff.decision.tokens if handoff.decision is not None else 0
        record.tokens = Tokens(wire=wire, read=wire, instructions=count_tokens(instructions), overhead=overhead)
        try:
            reading = protocol.decode(handoff, delegation.tools)
        except UnfaithfulError as error:
            return record.failed("unfaithful", str(error))
        except CodecError as error:
            return record.failed("unreadable_handoff", str(error))
        except GraphError as error:
            return record.failed("invalid_graph", str(error))
        except HandoffError as error:
            return record.failed("protocol_error", f"decode: {error}")
        record.read(reading)
        invented = unfaithful(reading.text, [record.plan, *sources_of(delegation)]) if reading.graph is not None else []
        if invented:
            return record.failed("unfaithful", f"not in the delegation: {', '.join(invented[:5])}")
        return self._carry_out(record, reading)

    def _carry_out(self, record: _Record, reading: Reading) -> Trial:
        task_id = record.delegation.id
        try:
            expected = self.expected(record.delegation)
            done, score = self._run(task_id, reading.plan)
        except EnvironmentCallError as error:
            return record.failed("environment_error", str(error))
        record.steps = tuple(_step(outcome) for outcome in done.steps)
        record.report = done.report
        if score.reward == 1:
            return record.trial(score)
        findings: Findings = explain(expected, done, score)
        return record.trial(score, findings.kind, findings.detail)

    def expected(self, delegation: Delegation) -> Execution:
        """What the delegation's own plan does in the environment; run once a task."""
        if delegation.id not in self._expected:
            plan = Plan.from_graph(delegation.graph)
            self._expected[delegation.id] = self._run(delegation.id, plan)[0]
        return self._expected[delegation.id]

    def _run(self, task_id: str, plan: Plan) -> tuple[Execution, Score]:
        self.environment.reset(task_id)
        done = execute(plan, self.environment.call)
        return done, self.environment.score(task_id, ["\n".join(done.report)] if done.report else [])


class _Record:
    """A trial in the making."""

    def __init__(self, benchmark: str, delegation: Delegation, protocol: str, seed: int) -> None:
        self.benchmark, self.delegation, self.protocol, self.seed = benchmark, delegation, protocol, seed
        self.plan = load_codec("compact").encode(delegation.graph, delegation.tools)
        self.handoff = Handoff("", protocol, protocol)
        self.decoded: str | None = None
        self.tokens = Tokens(wire=0, read=0, instructions=0)
        self.steps: tuple[StepRecord, ...] = ()
        self.report: tuple[str, ...] = ()
        self.graph: dict[str, float] = {}
        self.facts: FactRecall | None = None

    def read(self, reading: Reading) -> None:
        if reading.text != self.handoff.text:
            self.decoded = reading.text
            self.tokens = self.tokens.model_copy(update={"read": count_tokens(reading.text)})
        plan = Plan.from_graph(self.delegation.graph)
        found = recall(plan, reading.text, self.delegation.tools)
        self.facts = FactRecall(tools=found.tools, values=found.values, order=found.order)
        if reading.graph is not None:
            self.graph = compare(reading.graph, self.delegation.graph) | {"repaired": float(self.handoff.repaired)}
        elif self.backed_off:  # a graph was due: it counts as one that is not valid
            self.graph = compare(None, self.delegation.graph) | {"repaired": 0.0}
        if self.graph:
            self.graph |= {"backoff": float(self.backed_off)}

    @property
    def backed_off(self) -> bool:
        """The protocol should have written a graph and could not: what crossed is prose."""
        return self.handoff.fallback == Prose.name

    def failed(self, kind: FailureKind, detail: str) -> Trial:
        """A trial that never came to a score."""
        if not self.graph and kind in ("unreadable_handoff", "invalid_graph", "unfaithful"):
            self.graph = compare(None, self.delegation.graph) | {"repaired": 0.0}
        return self.trial(Score(reward=0.0), kind, detail)

    def trial(self, score: Score, failure: FailureKind | None = None, detail: str = "") -> Trial:
        return Trial(
            benchmark=self.benchmark,
            task_id=self.delegation.id,
            protocol=self.protocol,
            seed=self.seed,
            executor=ScriptedExecutor.name,
            task=self.delegation.task,
            plan=self.plan,
            handoff=self.handoff.text,
            decoded=self.decoded,
            tokens=self.tokens,
            steps=self.steps,
            report=self.report,
            reward=score.reward,
            reward_parts=dict(score.parts),
            failure=failure,
            detail=detail,
            graph=self.graph,
            facts=self.facts,
            pattern=pattern_of(self.delegation.task, self.delegation.tools),
            route=_route(self.handoff.decision) if self.handoff.decision is not None else None,
        )


def _route(decision: Decision) -> Route:
    """What a trial keeps of a decision: not its wall time, which differs from run to run."""
    return Route(
        router=decision.router,
        format=decision.format,
        score=decision.score,
        reason=decision.reason,
        pattern=decision.pattern,
        failed=decision.failed,
    )


def _step(outcome: Any) -> StepRecord:
    detail = outcome.value if isinstance(outcome.value, str) else dumps(outcome.value)
    shown = detail if len(detail) <= MAX_SHOWN else f"{detail[: MAX_SHOWN - 1]}…"
    arguments = dict(outcome.arguments) if outcome.arguments is not None else None
    return StepRecord(id=outcome.id, tool=outcome.name, arguments=arguments, status=outcome.status, detail=shown)
