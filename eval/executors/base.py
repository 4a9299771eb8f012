"""What an executor is: it receives a handoff and acts on it.

To add one: a module with a class that derives from `Executor`, named in a suite as `module:Class`, or by a line in
`eval.executors.EXECUTORS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from data.environments.base import Environment
from data.trajectory import Message
from eval.trial import Usage
from graph_handoff.delegation import Delegation
from graph_handoff.errors import HandoffError
from graph_handoff.execution import StepOutcome
from graph_handoff.handoff import Handoff
from graph_handoff.protocols import Reading

ModelRole = Literal["orchestrator", "executor", "router", "user", "judge", "teacher"]
"""What a model can be in a suite."""
Stop = Literal["done", "message_limit", "token_limit", "time_limit", "cost_limit", "refused"]
"""Why an executor stopped; `done` where it ended by itself."""


class ExecutorError(HandoffError):
    """The executor could not go on: its model could not be asked, for instance."""


@dataclass(frozen=True)
class Received:
    """A handoff as its receiver has it."""

    handoff: Handoff
    """As it crossed."""
    reading: Reading
    """What the protocol read in it: `reading.text` is for a model, `reading.plan` for a script."""
    instructions: str
    """What the protocol tells an executor that reads the text; empty where it needs nothing."""


@dataclass(frozen=True)
class Outcome:
    """What an executor did."""

    steps: tuple[StepOutcome, ...]
    """Every step in the order in which it was tried: the calls with their results, and what could not be called."""
    report: tuple[str, ...] = ()
    """What it told the user."""
    messages: tuple[Message, ...] = ()
    """The conversation, where a model took part in it."""
    usage: dict[str, Usage] = field(default_factory=dict)
    """Tokens by model, as the providers count them."""
    cost: float | None = None
    """US dollars; None where no model was called or its price is not known."""
    latency: float | None = None
    """Seconds of wall time spent on models; None where none was called, so that a record does not depend on the machine."""
    stop: Stop = "done"


class Executor(ABC):
    """Acts on a handoff in an environment."""

    name: ClassVar[str]
    """As the trials and the report call it."""
    roles: ClassVar[tuple[ModelRole, ...]]
    """The models it asks, by `inspect_ai.model.get_model(role=...)`: a suite must name each of them."""
    deterministic: ClassVar[bool]
    """The same handoff always ends the same way: it is executed once, whatever the seed that wrote it."""

    @abstractmethod
    async def run(self, delegation: Delegation, received: Received, environment: Environment) -> Outcome:
        """Act on the handoff in `environment`, which is in the task's initial state and not shared.

        Of the delegation an executor may read the tools and the context; task and graph are what the handoff stands for. Raises
        ExecutorError, and EnvironmentCallError where the environment broke: both are recorded with the trial.
        """
