"""How often a verdict from recordings alone is right: `python -m benchmarks.recorded`; the figures in docs/recorded.md.

Every plan is executed twice: in the real environment, whose score is the truth, and in an environment that knows only the
trajectory of that task. Plans are what each protocol's receiver reads, and the labelled plans with one fault each.
Faults that add a call are shown apart: what a call that was never made does, no recording can tell.

Gold plans need the benchmark package; `--recordings FOLDER` adds the public trajectories (tau2_*_retail.json.gz,
tau2_*_airline.json.gz, of https://github.com/sierra-research/tau2-bench). `--lab` takes the conversations of
examples/own-traces instead, and the laboratory that they were made in. `--writes` says who tells which tools write:
`recordings` (recorded effects, then names) or `environment` (as a user would). `--trained t5=RUN t5:text=RUN` adds protocols with
their models. `--list FILE` writes every disagreement.

`--runs REAL RECORDED` compares two finished evaluations instead: of a benchmark with its environment, and of `recorded` on the
same gold plans. Compared are the trials of one task, protocol and text in both.
"""

from __future__ import annotations

import argparse
import contextlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from benchmarks.lab import TRACES, LabEnvironment
from data.environments import load_environment
from data.environments.base import EnvironmentCallError, Scores, StatefulEnvironment
from data.environments.gold import replay_gold
from data.environments.recorded import RecordedEnvironment, Recording
from data.environments.tau2 import AIRLINE, RETAIL
from data.environments.tau2_score import report_findings
from data.environments.writes import WriteVerdict, which_write
from data.labels.record import label_trajectory
from data.labels.replay import run_recorded, some_order, with_steps
from data.runs.folder import TRIALS_FILE
from data.sources import SOURCES, detect
from data.sources.base import Accepted
from data.trajectory import Trajectory
from eval.trial import read_trials
from graph_handoff.console import say, table, track
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.errors import HandoffError
from graph_handoff.execution import execute
from graph_handoff.plan import Plan, Step
from graph_handoff.protocols import Protocol, load_protocol
from graph_handoff.reference import Reference, references

PROTOCOLS = ("nl", "ngh", "ngh-bare", "compact")
SEEDS = (0, 1, 2)
FAULTS = {
    "drop": "a step left out",
    "swap": "two steps exchanged",
    "shuffle": "another order that data flow allows",
    "value": "another value in an argument",
    "reference": "another reference in an argument",
}
ADDED = {"repeat": "a step made twice", "add": "a step more, with another value"}
"""Faults that add a call."""
TRIES = 3
"""Plans of each fault for each task."""


@dataclass(frozen=True)
class Case:
    """One task: its recording, and the plan that was labelled from it."""

    trajectory: Trajectory
    delegation: Delegation

    @property
    def plan(self) -> Plan:
        return Plan.from_graph(self.delegation.graph)


@dataclass(frozen=True)
class Trial:
    """One plan of one task, judged twice."""

    group: str
    kind: str
    """A protocol's name, or a fault's."""
    id: str
    truth: bool
    verdict: bool
    real: str
    """What the real environment misses."""
    recorded: str
    """What the recording misses."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=Path)
    parser.add_argument("--writes", choices=("environment", "recordings"), default="recordings")
    parser.add_argument("--lab", action="store_true")
    parser.add_argument("--trained", nargs="*", default=[], metavar="PROTOCOL=RUN")
    parser.add_argument("--list", type=Path)
    parser.add_argument("--runs", nargs=2, type=Path, metavar=("REAL", "RECORDED"))
    options = parser.parse_args()
    if options.runs:
        compare_runs(*options.runs)
        return
    protocols = {name: load_protocol(name) for name in PROTOCOLS}
    for name, run in (given.split("=", 1) for given in options.trained):
        protocols[name] = load_protocol(name.split(":")[0], run=run)
    trials: list[Trial] = []
    for environment, groups in (lab(),) if options.lab else tau2(options.recordings):
        every = [trajectory for found in groups.values() for trajectory in found]
        verdicts = verdicts_of(environment, every, options.writes)
        for group, found in groups.items():
            trials += judge(group, found, environment, verdicts, protocols)
    report(trials)
    if options.list:
        disagreeing = [trial.__dict__ for trial in trials if trial.truth != trial.verdict]
        options.list.write_bytes(b"".join(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in disagreeing))


def compare_runs(real: Path, recorded: Path) -> None:
    """Print, by protocol, how many verdicts of two evaluations agree, and each that does not."""
    truths = {(f"gold-{t.benchmark}-{t.task_id}", t.protocol, t.handoff): t for t in read_trials(real / TRIALS_FILE)}
    agreeing: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    others = 0
    for trial in read_trials(recorded / TRIALS_FILE):
        truth = truths.get((trial.task_id, trial.protocol, trial.handoff))
        if truth is None:
            others += 1
            continue
        agree = (truth.reward == 1) == (trial.reward == 1)
        compared[trial.protocol] += 1
        agreeing[trial.protocol] += agree
        if not agree:
            told = f"real {truth.reward:g} {truth.detail}; recorded {trial.reward:g} {trial.detail}"
            say(f"{trial.task_id} {trial.protocol}: {told}")
    table(("protocol", "trials", "agree"), [(name, count, agreeing[name]) for name, count in compared.items()])
    say(f"{agreeing.total()} of {compared.total()} trials agree; {others} have no counterpart with the same text")


Groups = dict[str, list[Trajectory]]


def tau2(recordings: Path | None) -> Iterator[tuple[StatefulEnvironment, Groups]]:
    """The gold plans of each domain, and the trajectories in that folder."""
    for name in (RETAIL, AIRLINE):
        environment = load_environment(name).fork()
        groups = {f"gold {environment.domain}": list(replay_gold(name))}
        for path in sorted(recordings.glob(f"tau2_*_{environment.domain}.json.gz")) if recordings else ():
            groups[path.name.split(".json")[0]] = trajectories(path)
        yield environment, groups


def lab() -> tuple[StatefulEnvironment, Groups]:
    """The laboratory's conversations."""
    return LabEnvironment(), {"lab": trajectories(TRACES)}


def trajectories(path: Path) -> list[Trajectory]:
    """Those of a trace file that can be used."""
    return [record.trajectory for record in SOURCES[detect(path)].read(path) if isinstance(record, Accepted)]


def verdicts_of(environment: StatefulEnvironment, every: Sequence[Trajectory], told_by: str) -> dict[str, WriteVerdict]:
    """Which tools write, and how many of the verdicts on the tools of the benchmark are right."""
    names = [schema["name"] for schema in environment.tools]
    writes = [name for name in names if environment.is_write(name)]
    reads = [name for name in names if not environment.is_write(name)]
    told = (writes, reads) if told_by == "environment" else ((), ())
    verdicts = which_write(environment.tools, every, *told)
    if told_by == "recordings":
        rows = [
            (n, "writes" if v.writes else "reads", v.told_by, v.writes == environment.is_write(n), v.detail)
            for n, v in verdicts.items()
        ]
        table(("tool", "verdict", "told by", "right", "what was found"), rows, environment.name)
    return verdicts


def judge(
    group: str,
    found: Sequence[Trajectory],
    environment: StatefulEnvironment,
    verdicts: Mapping[str, WriteVerdict],
    protocols: Mapping[str, Protocol],
) -> Iterator[Trial]:
    """Every plan of every task of a group. A recording that the environment does not repeat is left out, and counted."""
    tools, writing = Toolset.from_schemas(environment.tools), frozenset(name for name, v in verdicts.items() if v.writes)
    left_out: Counter[str] = Counter()
    for trajectory in track(found, group):
        try:
            state, is_same = run_recorded(environment, trajectory)
        except EnvironmentCallError:
            is_same = False
        if not is_same:
            left_out["the environment does not repeat it"] += 1
            continue
        record = label_trajectory(trajectory)
        case = Case(trajectory, Delegation(trajectory.id, record.task.text, tools, record.graph))
        recorded = RecordedEnvironment({trajectory.id: Recording(trajectory, environment.tools, record.graph, writing)})
        for kind, plan in (*by_protocols(case, protocols), *with_faults(case)):
            truth, real = truly(case, plan, environment, state if trajectory.source != "gold" else None)
            recorded.reset(trajectory.id)
            done = execute(plan, recorded.call)
            score = recorded.score(trajectory.id, ["\n".join(done.report)] if done.report else [])
            yield Trial(group, kind, trajectory.id, truth, score.reward == 1, real, score.detail)
    for reason, count in left_out.items():
        say(f"{group}: {count} of {len(found)} left out ({reason})")


def truly(case: Case, plan: Plan, environment: StatefulEnvironment, state: str | None) -> tuple[bool, str]:
    """The benchmark's reward; for a recording, which may have failed its task, whether the plan does what the recording did."""
    task = case.trajectory.task
    environment.reset(task.id)
    try:
        done = execute(plan, environment.call)
    except EnvironmentCallError as error:
        return False, str(error)
    reported = ["\n".join(done.report)] if done.report else []
    if state is None and isinstance(environment, Scores):
        score = environment.score(task.id, reported)
        return score.reward == 1, score.detail
    untold = report_findings(task.communicate, reported)
    left = ["another state"] if environment.state_hash() != state else []
    return not untold and not left, "; ".join([*left, *untold])


def by_protocols(case: Case, protocols: Mapping[str, Protocol]) -> Iterator[tuple[str, Plan]]:
    """What the receiver of each protocol reads, each text once; nothing where a handoff cannot be read."""
    for name, protocol in protocols.items():
        sent: dict[str, Plan] = {}
        for seed in SEEDS:
            with contextlib.suppress(HandoffError):
                handoff: Any = protocol.encode(case.delegation, seed)
                sent[str(getattr(handoff, "text", handoff))] = protocol.decode(handoff, case.delegation.tools).plan
        yield from ((name, plan) for plan in sent.values())


def with_faults(case: Case) -> Iterator[tuple[str, Plan]]:
    """The plan with one fault, each different plan once."""
    seen = {case.plan.to_graph().dumps()}
    for kind in (*FAULTS, *ADDED):
        for number in range(TRIES):
            made = faulty(case.plan, kind, random.Random(f"{case.trajectory.id}/{kind}/{number}"))
            if made is not None and (text := repr(made)) not in seen:
                seen.add(text)
                yield kind, made


def faulty(plan: Plan, kind: str, generator: random.Random) -> Plan | None:
    """The plan with one fault; None where it has no place for it."""
    steps = list(plan.steps)
    places = [n for n, step in enumerate(steps) if not step.is_action]
    if not places:
        return None
    place = generator.choice(places)
    order = list(range(len(steps)))
    if kind == "drop":
        return with_steps(plan, [n for n in order if n != place])
    if kind == "swap":
        other = generator.choice(places)
        order[place], order[other] = order[other], order[place]
        return with_steps(plan, order) if place != other else None
    if kind == "shuffle":
        return with_steps(plan, some_order(plan, generator, with_after=False))
    if kind == "repeat":
        at = generator.randrange(place + 1, len(steps) + 1)
        return inserted(plan, at, steps[place])
    if kind == "add":
        return added(plan, place, generator)
    return changed(plan, place, kind, generator)


def changed(plan: Plan, place: int, kind: str, generator: random.Random) -> Plan | None:
    """One argument with another value of the same plan's, or with another reference."""
    step = plan.steps[place]
    names = [n for n, value in step.arguments.items() if isinstance(value, Reference) == (kind == "reference")]
    if not names:
        return None
    name = generator.choice(names)
    value = step.arguments[name]
    others = [
        v
        for s in plan.steps
        for v in s.arguments.values()
        if v != value and type(v) is type(value) and not _looks_ahead(v, place)
    ]
    if kind == "reference" and generator.random() < 0.5 and value.path:
        others = [replace(value, path=(*value.path[:-1], f"{value.path[-1]}s"))]
    new = generator.choice(others) if others else f"{value}0"
    steps = list(plan.steps)
    steps[place] = replace(step, arguments={**step.arguments, name: new})
    return replace(plan, steps=tuple(steps))


def _looks_ahead(value: Any, place: int) -> bool:
    return any(int(reference.node[1:]) - 1 >= place for reference in references(value))


def added(plan: Plan, place: int, generator: random.Random) -> Plan | None:
    """A step once more, with another value in one argument: a call that the task does not ask for."""
    made = changed(plan, place, "value", generator)
    return inserted(plan, place, made.steps[place]) if made is not None else None


def inserted(plan: Plan, at: int, step: Step) -> Plan:
    """The plan with one step more; the later ones keep what they refer to."""
    moved = with_steps(Plan((*plan.steps, step)), [*range(at), len(plan.steps), *range(at, len(plan.steps))])
    return replace(plan, steps=moved.steps)


def report(trials: Sequence[Trial]) -> None:
    """Agreement by group and by kind of plan, plans with a call too many apart."""
    known = [trial for trial in trials if trial.kind not in ADDED]
    _show("by recordings", "group", known)
    _show("by kind of plan", "kind", known)
    _show("plans with a call too many", "kind", [trial for trial in trials if trial.kind in ADDED])


def _show(title: str, key: str, trials: Sequence[Trial]) -> None:
    rows = []
    for name in [*dict.fromkeys(getattr(trial, key) for trial in trials), "all"]:
        own = [trial for trial in trials if name in (getattr(trial, key), "all")]
        words = FAULTS.get(name) or ADDED.get(name)
        rows.append((f"{name}: {words}" if words else name, *_figures(own)))
    table(("", "trials", "true 1", "agree", "agreement %", "true 1, verdict 0", "true 0, verdict 1"), rows, title)


def _figures(trials: Sequence[Trial]) -> tuple[Any, ...]:
    agree = sum(trial.truth == trial.verdict for trial in trials)
    strict = sum(trial.truth and not trial.verdict for trial in trials)
    right = sum(trial.truth for trial in trials)
    return len(trials), right, agree, f"{100 * agree / len(trials):.2f}", strict, len(trials) - agree - strict


if __name__ == "__main__":
    main()
