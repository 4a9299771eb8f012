"""Rewards of a written graph: small, verifiable, multiplied.

    reward = valid x faithful x fidelity x brevity

`valid` is 1 for a text that reads as a valid graph, 0.5 where it had to be repaired; `faithful` is 0 where the text has an
identifier that its source does not hold. `fidelity` compares with the gold plan (`graph_f1`), or executes both in the real
environment (`Executes`). `brevity` is 1 - w min(1, tokens / 2 reference tokens).

Fidelity is at most 1 - w for what is not the gold plan, and brevity at least 1 - w. So no text, however short, that says less
than the gold plan scores above one that says all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError, ConfigError, GraphError, HandoffError, UnfaithfulError
from graph_handoff.graph import Graph
from graph_handoff.graph_metrics import compare
from graph_handoff.placeholders import Lifted
from graph_handoff.plan import Plan
from graph_handoff.protocols.graph_writer.texts import Written, read_written

if TYPE_CHECKING:
    from data.environments.base import ReplayableEnvironment

PARTS = ("valid", "faithful", "fidelity", "brevity")
BREVITY_WEIGHT = 0.1
REPAIRED = 0.5
MAX_STEPS = 64
"""A longer plan is not executed: its fidelity is 0."""


@dataclass(frozen=True)
class Case:
    """One delegation to write: what the model reads, and what it should come to."""

    id: str
    environment: str | None
    """The environment that can execute it; None where only what was recorded is known."""
    source: Lifted
    target: str
    gold: Graph
    tools: Toolset


@dataclass(frozen=True)
class Scored:
    """The parts of a reward, each in [0, 1]."""

    parts: Mapping[str, float]
    repaired: bool = False

    @property
    def reward(self) -> float:
        return prod(self.parts.values())


@dataclass(frozen=True)
class Failed:
    """A reward that could not be found: no fault of the text's, so it is counted and teaches nothing."""

    kind: Literal["environment_error", "time_out"]
    detail: str


class RewardError(HandoffError):
    """Rewards that fail too often to learn from."""


class Fidelity(Protocol):
    """How much of the gold plan a written plan preserves, in [0, 1], 1 for the gold plan itself; or why that cannot be said."""

    def __call__(self, written: Plan, case: Case) -> float | Failed: ...


def score(text: str, tokens: int, reference: int, case: Case, fidelity: Fidelity) -> Scored | Failed:
    """The reward of one text of `tokens` tokens; the gold text has `reference`."""
    try:
        written = read_written(text, case.source, case.tools)
    except UnfaithfulError:
        return Scored({"valid": 1.0, "faithful": 0.0, "fidelity": 0.0, "brevity": brevity(tokens, reference)})
    except (CodecError, GraphError):
        return Scored({"valid": 0.0, "faithful": 0.0, "fidelity": 0.0, "brevity": brevity(tokens, reference)})
    found = fidelity(written.plan, case)
    if isinstance(found, Failed):
        return found
    parts = {"valid": valid(written), "faithful": 1.0, "fidelity": found, "brevity": brevity(tokens, reference)}
    return Scored(parts, written.repaired)


def valid(written: Written) -> float:
    """1 for a text that could be read as it stands."""
    return REPAIRED if written.repaired else 1.0


def brevity(tokens: int, reference: int) -> float:
    """1 for an empty text, less by up to BREVITY_WEIGHT for one of twice the reference's length and more."""
    return 1 - BREVITY_WEIGHT * min(1.0, tokens / (2 * max(1, reference)))


def graph_f1(written: Plan, case: Case) -> float:
    """1 for the gold graph; else 1 - BREVITY_WEIGHT times the mean of the F1 of nodes, edges and arguments' values."""
    graph = written.to_graph()
    if graph.same_as(case.gold):
        return 1.0
    found = compare(graph, case.gold)
    return (1 - BREVITY_WEIGHT) * (found["node_f1"] + found["edge_f1"] + found["argument_value_f1"]) / 3


class Executes:
    """1 where the plan, executed in its environment, leaves the state and tells the user what the gold plan does, else 0.

    Where the gold plan changes nothing, an empty plan would pass: then the calls made must be the gold plan's. Cases without an
    environment are answered by what was `recorded` of them.
    """

    def __init__(self, recorded: ReplayableEnvironment | None = None, seconds: float = 10.0) -> None:
        self.recorded, self.seconds = recorded, seconds
        self._reaches: dict[str | None, Any] = {}

    def __call__(self, written: Plan, case: Case) -> float | Failed:
        from data.environments.base import EnvironmentCallError
        from data.labels.replay import TooSlowError

        if len(written.steps) > MAX_STEPS:
            return 0.0
        try:
            return float(self.reaches(case)(written, case.id, Plan.from_graph(case.gold)))
        except EnvironmentCallError as error:
            return Failed("environment_error", str(error))
        except TooSlowError as error:
            return Failed("time_out", str(error))

    def reaches(self, case: Case) -> Any:
        """What compares in the case's environment: one copy of it, and one run of each gold plan."""
        from data.environments import environment_of
        from data.labels.replay import ReachesGold

        if case.environment not in self._reaches:
            environment = environment_of(case, self.recorded).fork()
            self._reaches[case.environment] = ReachesGold(environment, exact=True, seconds=self.seconds)
        return self._reaches[case.environment]


def fidelity_of(name: Literal["graph_f1", "execution"], corpus: Path, cases: Iterable[Case]) -> Fidelity:
    """The function of that name for the cases of a corpus. Raises ConfigError where some of them cannot be executed."""
    if name == "graph_f1":
        return graph_f1
    from data.corpus import read_corpus
    from data.recordings import ADVICE, read_recordings

    recorded = read_recordings(corpus, (row for rows in read_corpus(corpus).values() for row in rows))
    missing = {case.id for case in cases if case.environment is None and case.id not in recorded.recordings}
    if missing:
        problem = f"{len(missing)} plans have neither an environment nor a recording: {ADVICE}"
        raise ConfigError(problem, field="fidelity", found=name, allowed="graph_f1")
    return Executes(recorded)
