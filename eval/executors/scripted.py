"""The scripted executor: deterministic, no model.

It executes the plan that the protocol read in the handoff, and resolves references from the results of the real environment.
It measures what a format preserves, not how clever a model is.
"""

from __future__ import annotations

from typing import ClassVar

from data.environments.base import Environment
from eval.executors.base import Executor, ModelRole, Outcome, Received
from graph_handoff.delegation import Delegation
from graph_handoff.execution import execute


class Scripted(Executor):
    """Runs the steps of the plan in their order."""

    name = "scripted"
    roles: ClassVar[tuple[ModelRole, ...]] = ()
    deterministic: ClassVar[bool] = True

    async def run(self, delegation: Delegation, received: Received, environment: Environment) -> Outcome:
        done = execute(received.reading.plan, environment.call)
        return Outcome(done.steps, done.report)
