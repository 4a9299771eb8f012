"""Own traces: any labelled graphs as delegations, judged by their recordings alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from data.corpus import read_corpus
from data.environments.recorded import NAME, RecordedEnvironment, Recording
from data.environments.writes import TOLD_BY, WriteVerdict, which_write
from data.labelled import LabelledGraph, read_graphs
from data.toolsets import ToolsetStore
from data.trajectory import Trajectory, read_trajectories
from eval.benchmarks.base import Adapter, Benchmark, Inputs
from graph_handoff.console import say, table
from graph_handoff.delegation import Delegation
from graph_handoff.errors import InputError
from graph_handoff.execution import execute
from graph_handoff.plan import Plan

NO_TOOLSET = "no tool schemas"
NO_RECORDING = "its trajectory is not among the recordings"
SHOWN = 3  # plans that fail under their own recording, by id


def load_recorded(name: str, inputs: Inputs) -> Benchmark:
    """The graphs whose trajectories are there, each recording a task of its own, by the trajectory's id.

    Raises InputError where none is left, ConfigError where `writes` or `reads` name no tool.
    """
    store = ToolsetStore.beside(inputs.graphs)
    left_out: Counter[str] = Counter()
    records = {record.id: record for record in _chosen(inputs, left_out)}
    kept: dict[str, Trajectory] = {}
    hashes = {record.toolset for record in records.values() if record.toolset is not None}
    schemas = [schema for one in sorted(hashes) for schema in store.schemas(one)]
    verdicts = which_write(schemas, _keeping(inputs.trajectories, records, kept), inputs.writes, inputs.reads)
    left_out[NO_RECORDING] += len(records.keys() - kept.keys())
    writing = frozenset(verdict.tool for verdict in verdicts.values() if verdict.writes)
    recordings: dict[str, Recording] = {}
    delegations: dict[str, Delegation] = {}
    for key, record in records.items():
        if key in kept and record.toolset is not None:
            recordings[key] = Recording(kept[key], store.schemas(record.toolset), record.graph, writing)
            delegations[key] = record.to_delegation(store.toolset(record.toolset))
    if not delegations:
        reasons = "; ".join(f"{count} left out: {reason}" for reason, count in (+left_out).items()) or "no records"
        raise InputError(f"holds no plan to judge ({inputs.part}; {reasons})", file=inputs.graphs)
    environment = RecordedEnvironment(recordings)
    problems = [*_idle(recordings), *_failing(environment, delegations), *_left_out(left_out)]
    _show(verdicts, problems)
    return Benchmark(name, environment, delegations, (*_notes(delegations, records, verdicts), *problems))


def _chosen(inputs: Inputs, left_out: Counter[str]) -> Iterator[LabelledGraph]:
    """The records of the part, those without tools left out."""
    splits = read_corpus(inputs.corpus) if inputs.part != "all" else {}
    held_out = {row.id for split, rows in splits.items() for row in rows if (split == "test") == (inputs.part == "test")}
    for record in read_graphs(inputs.graphs):
        if inputs.part != "all" and record.id not in held_out:
            continue
        if record.toolset is None:
            left_out[NO_TOOLSET] += 1
        else:
            yield record


def _keeping(path: Path, records: dict[str, LabelledGraph], kept: dict[str, Trajectory]) -> Iterator[Trajectory]:
    """Every trajectory, for what it shows of the tools; those of the records are kept."""
    for trajectory in read_trajectories(path):
        if trajectory.id in records:
            kept[trajectory.id] = trajectory
        yield trajectory


def _notes(
    delegations: dict[str, Delegation], records: dict[str, LabelledGraph], verdicts: dict[str, WriteVerdict]
) -> Iterator[str]:
    tasks = {(records[key].task.domain, records[key].task.id) for key in delegations}
    yield (
        f"recorded: {len(delegations)} recordings of {len(tasks)} tasks. There is no environment: a call is answered by what was "
        "recorded, a call that was never recorded fails, and the reward is 1 where the recorded writes were made, no others, in "
        "an order that the graph allows, and the user was told what the record asks for."
    )
    for is_write, title in ((True, "write"), (False, "only read")):
        told = []
        for by, words in TOLD_BY.items():
            names = [v.tool for v in verdicts.values() if v.writes == is_write and v.told_by == by]
            told += [f"{', '.join(names)} (told by {words})"] if names else []
        yield f"recorded: tools that {title}: {'; '.join(told) or 'none'}."


def _idle(recordings: dict[str, Recording]) -> Iterator[str]:
    """Recordings that ask for nothing: any plan earns the reward."""
    idle = sum(not recording.writes and not recording.trajectory.task.communicate for recording in recordings.values())
    if idle:
        count = f"{idle} of {len(recordings)}"
        yield f"recorded: {count} recordings hold no write and nothing to tell, so every format scores 1 on them."


def _failing(environment: RecordedEnvironment, delegations: dict[str, Delegation]) -> Iterator[str]:
    """Plans that do not repeat their own recording: no format can earn a reward on them."""
    failing = []
    for key, delegation in delegations.items():
        environment.reset(key)
        done = execute(Plan.from_graph(delegation.graph), environment.call)
        score = environment.score(key, ["\n".join(done.report)] if done.report else [])
        if score.reward < 1:
            failing.append(f"{key}: {score.detail}")
    if failing:
        shown = "; ".join(failing[:SHOWN]) + (f"; and {len(failing) - SHOWN} more" if len(failing) > SHOWN else "")
        count = f"{len(failing)} of {len(delegations)}"
        yield f"recorded: {count} plans do not repeat their own recording, so no format can: {shown}."


def _left_out(reasons: Counter[str]) -> Iterator[str]:
    yield from (f"recorded: {count} records left out ({reason})." for reason, count in (+reasons).items())


def _show(verdicts: dict[str, WriteVerdict], problems: Iterable[str]) -> None:
    rows = [(v.tool, "writes" if v.writes else "reads", TOLD_BY[v.told_by], v.detail) for v in verdicts.values()]
    table(("tool", "", "told by", "what was found"), rows, "which tools write")
    for problem in problems:
        say(problem)


def _files(inputs: Inputs) -> tuple[Path, ...]:
    return (inputs.graphs, inputs.trajectories, *((inputs.corpus,) if inputs.part != "all" else ()))


ADAPTERS = {NAME: Adapter("Recorded traces", load_recorded, _files)}
