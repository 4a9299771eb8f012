"""How a trial is made, whatever the executor: encode, count, decode, measure what arrived, execute, score, name the failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import TypeVar

from data.environments.base import EnvironmentCallError, JudgingEnvironment, Score
from eval.decisions import Decisions
from eval.executors import Executor, ExecutorError, Outcome, Received
from eval.failures import Findings, explain
from eval.trial import FailureKind, Route, StepRecord, Tokens, Trial
from graph_handoff.codec import load_codec
from graph_handoff.delegation import Delegation
from graph_handoff.errors import CodecError, GraphError, HandoffError, UnfaithfulError
from graph_handoff.execution import Execution, StepOutcome, execute
from graph_handoff.fact_recall import FactRecall, recall
from graph_handoff.faithfulness import sources_of, unfaithful
from graph_handoff.graph_metrics import compare
from graph_handoff.handoff import Handoff
from graph_handoff.plan import Plan
from graph_handoff.protocols import Protocol, Reading, Routing
from graph_handoff.protocols.prose.protocol import Prose
from graph_handoff.routing import Decision
from graph_handoff.routing.rules import pattern_of
from graph_handoff.scalar import dumps
from graph_handoff.tokens import count_tokens

T = TypeVar("T")
MAX_SHOWN = 400  # characters of a result that a record keeps


class TrialMaker:
    """Makes the trials of one benchmark around one executor. Trials that run at the same time have an environment each."""

    def __init__(self, benchmark: str, environment: JudgingEnvironment, executor: Executor, threads: bool = False) -> None:
        """`threads`: protocols and routers work in threads, so that trials which wait for a model are not held up."""
        self.benchmark, self.executor, self.threads = benchmark, executor, threads
        self.decisions = Decisions()
        self._environment, self._free = environment, [environment]
        self._locks: dict[str, Lock] = {}
        self._expected: dict[str, Execution] = {}
        self._seen: dict[tuple[str, str, str, str], Trial] = {}

    async def trial(self, delegation: Delegation, protocol: Protocol, label: str, seed: int) -> Trial:
        """One trial. What a protocol, an executor or an environment raises is a recorded failure.

        Under a deterministic executor a handoff that reads as another seed's did is not executed again.
        """
        record = _Record(self.benchmark, delegation, label, seed, self.executor.name)
        failed = await self._aside(self._send, record, protocol)
        if failed is not None:
            return failed
        if not self.executor.deterministic:
            return await self._receive(record, protocol)
        key = (delegation.id, label, record.handoff.form, record.handoff.text)
        if key not in self._seen:
            self._seen[key] = await self._receive(record, protocol)
        return self._seen[key].model_copy(update={"seed": seed})

    async def _aside(self, work: Callable[[_Record, Protocol], T], record: _Record, protocol: Protocol) -> T:
        if not self.threads:
            return work(record, protocol)
        from anyio.to_thread import run_sync

        return await run_sync(work, record, protocol)

    def _send(self, record: _Record, protocol: Protocol) -> Trial | None:
        """Write the handoff; a trial where that failed."""
        delegation = record.delegation
        try:
            encode = protocol.encode
            if isinstance(protocol, Routing):
                record.decision = self.decisions.of((delegation.id, record.protocol), partial(protocol.decide, delegation))
                encode = partial(protocol.encode, decision=record.decision)
            with self._locks.setdefault(record.protocol, Lock()):
                record.sent(encode(delegation, record.seed), protocol)
        except UnfaithfulError as error:
            return record.failed("unfaithful", f"encode: {error}")
        except HandoffError as error:
            return record.failed("protocol_error", f"encode: {error}")
        return None

    async def _receive(self, record: _Record, protocol: Protocol) -> Trial:
        received = await self._aside(self._read, record, protocol)
        return received if isinstance(received, Trial) else await self._execute(record, received)

    def _read(self, record: _Record, protocol: Protocol) -> Received | Trial:
        """Decode the handoff and measure what arrived; a trial where it cannot be read."""
        try:
            with self._locks.setdefault(record.protocol, Lock()):
                reading = protocol.decode(record.handoff, record.delegation.tools)
        except UnfaithfulError as error:
            return record.failed("unfaithful", str(error))
        except CodecError as error:
            return record.failed("unreadable_handoff", str(error))
        except GraphError as error:
            return record.failed("invalid_graph", str(error))
        except HandoffError as error:
            return record.failed("protocol_error", f"decode: {error}")
        record.measure(reading)
        sources = [record.plan_text, *sources_of(record.delegation)]
        invented = unfaithful(reading.text, sources) if reading.graph is not None else []
        if invented:
            return record.failed("unfaithful", f"not in the delegation: {', '.join(invented[:5])}")
        return Received(record.handoff, reading, record.instructions)

    async def _execute(self, record: _Record, received: Received) -> Trial:
        delegation = record.delegation
        try:
            with self._borrowed() as environment:
                environment.reset(delegation.id)
                record.outcome = outcome = await self.executor.run(delegation, received, environment)
                score = environment.score(delegation.id, ["\n".join(outcome.report)] if outcome.report else [])
                if score.reward == 1:
                    return record.trial(score)
                expected = self._expect(delegation, environment)
        except EnvironmentCallError as error:
            return record.failed("environment_error", str(error))
        except ExecutorError as error:
            return record.failed("executor_error", str(error))
        findings: Findings = explain(expected, Execution(outcome.steps, outcome.report), score)
        return record.trial(score, findings.kind, findings.detail)

    @contextmanager
    def _borrowed(self) -> Iterator[JudgingEnvironment]:
        """An environment that no other trial uses meanwhile."""
        environment = self._free.pop() if self._free else self._environment.fork()
        try:
            yield environment
        finally:
            self._free.append(environment)

    def _expect(self, delegation: Delegation, environment: JudgingEnvironment) -> Execution:
        """What the delegation's own plan does in the environment; run once a task."""
        if delegation.id not in self._expected:
            environment.reset(delegation.id)
            self._expected[delegation.id] = execute(Plan.from_graph(delegation.graph), environment.call)
        return self._expected[delegation.id]


class _Record:
    """A trial in the making."""

    def __init__(self, benchmark: str, delegation: Delegation, protocol: str, seed: int, executor: str) -> None:
        self.benchmark, self.delegation, self.protocol, self.seed = benchmark, delegation, protocol, seed
        self.executor = executor
        self.plan_text = load_codec("compact").encode(delegation.graph, delegation.tools)
        self.decision: Decision | None = None
        self.handoff = Handoff("", protocol, protocol)
        self.instructions = ""
        self.decoded: str | None = None
        self.figures: dict[str, float] = {}
        self.outcome = Outcome(())
        self.graph_metrics: dict[str, float] = {}
        self.facts: FactRecall | None = None

    def sent(self, handoff: Handoff, protocol: Protocol) -> None:
        """What is sent, and what the executor is told beside it."""
        self.handoff = handoff
        self.instructions = protocol.instructions_for(handoff, self.delegation.tools)
        self.figures = dict(protocol.figures(self.delegation, handoff))

    def measure(self, reading: Reading) -> None:
        """Fact recall, and how near the graph is to the delegation's."""
        if reading.text != self.handoff.text:
            self.decoded = reading.text
        self.facts = recall(Plan.from_graph(self.delegation.graph), reading.text, self.delegation.tools)
        backed_off = self.handoff.fallback == Prose.name  # the protocol should have written a graph and could not
        if reading.graph is not None:
            self.graph_metrics = compare(reading.graph, self.delegation.graph) | {"repaired": float(self.handoff.repaired)}
        elif backed_off:  # a graph was due: it counts as one that is not valid
            self.graph_metrics = compare(None, self.delegation.graph) | {"repaired": 0.0}
        if self.graph_metrics:
            self.graph_metrics |= {"backoff": float(backed_off)}

    @property
    def tokens(self) -> Tokens:
        return Tokens(
            wire=self.handoff.tokens,
            read=self.handoff.tokens if self.decoded is None else count_tokens(self.decoded),
            instructions=count_tokens(self.instructions),
            overhead=self.decision.tokens if self.decision is not None else 0,
        )

    def failed(self, kind: FailureKind, detail: str) -> Trial:
        """A trial that never came to a score."""
        if not self.graph_metrics and kind in ("unreadable_handoff", "invalid_graph", "unfaithful"):
            self.graph_metrics = compare(None, self.delegation.graph) | {"repaired": 0.0}
        return self.trial(Score(reward=0.0), kind, detail)

    def trial(self, score: Score, failure: FailureKind | None = None, detail: str = "") -> Trial:
        outcome = self.outcome
        return Trial(
            benchmark=self.benchmark,
            task_id=self.delegation.id,
            protocol=self.protocol,
            seed=self.seed,
            executor=self.executor,
            task=self.delegation.task,
            plan_text=self.plan_text,
            handoff=self.handoff.text,
            form=self.handoff.form,
            fingerprint=self.handoff.fingerprint,
            artefact=self.handoff.artefact,
            fallback=self.handoff.fallback,
            decoded=self.decoded,
            instructions=self.instructions,
            tokens=self.tokens,
            steps=tuple(map(_step, outcome.steps)),
            report=outcome.report,
            messages=outcome.messages,
            usage=outcome.usage,
            cost=outcome.cost,
            latency=outcome.latency,
            stop=outcome.stop,
            reward=score.reward,
            reward_parts=dict(score.parts),
            failure=failure,
            detail=detail,
            graph_metrics=self.graph_metrics,
            facts=self.facts,
            figures=self.figures,
            pattern=pattern_of(self.delegation.task, self.delegation.tools),
            route=_route(self.decision) if self.decision is not None else None,
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


def _step(outcome: StepOutcome) -> StepRecord:
    detail = outcome.value if isinstance(outcome.value, str) else dumps(outcome.value)
    shown = detail if len(detail) <= MAX_SHOWN else f"{detail[: MAX_SHOWN - 1]}…"
    arguments = dict(outcome.arguments) if outcome.arguments is not None else None
    return StepRecord(
        id=outcome.id, tool=outcome.name, arguments=arguments, status=outcome.status, detail=shown, is_action=outcome.is_action
    )
