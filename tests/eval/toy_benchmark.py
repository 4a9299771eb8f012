"""A toy environment with a real score: orders that can be read and cancelled. Fast, and small enough to reason about."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from data.environments.base import CallResult, EnvironmentCallError, Score
from eval.benchmarks.base import Benchmark
from eval.executors import load_executor
from eval.trial import Trial
from eval.trial_maker import TrialMaker
from graph_handoff.delegation import Delegation, Tool, Toolset
from graph_handoff.plan import Effect, Guard, Plan, Step
from graph_handoff.reference import Reference, Select

TOOLS = Toolset(
    [
        Tool("get_user", "Find a user.", {"properties": {"email": {"type": "string"}}}),
        Tool("get_order", "Read an order.", {"properties": {"order_id": {"type": "string"}}}),
        Tool("cancel_order", "Cancel.", {"properties": {"order_id": {"type": "string"}, "reason": {"type": "string"}}}),
        Tool("ship_order", "Ship.", {"properties": {"order_id": {"type": "string"}}}),
    ]
)

PLAN = Plan(
    (
        Step("get_user", {"email": "mei@example.com"}),
        Step("get_order", {"order_id": Reference("t1", ("orders", Select(((("kind",), "lamp"),)), "id"))}),
        Step(
            "cancel_order",
            {"order_id": Reference("t1", ("orders", Select(((("kind",), "lamp"),)), "id")), "reason": "no longer needed"},
            (Guard(Reference("t2", ("status",)), "pending"),),
            (Effect(("status",), "cancelled"),),
        ),
        Step("report", {"info": ["done", Reference("t3", ("refund",))]}, is_action=True),
    )
)


class ToyEnvironment:
    """Two orders of one user. The task `cancel`: order W1 cancelled, order W2 untouched, and the user told 12.5."""

    name = domain = "toy"

    def __init__(self, breaks: bool = False) -> None:
        self.breaks = breaks
        self.orders: dict[str, dict[str, Any]] = {}

    def fork(self) -> ToyEnvironment:
        return ToyEnvironment(self.breaks)

    def reset(self, task_id: str) -> None:
        self.orders = {
            "W1": {"id": "W1", "kind": "lamp", "status": "pending"},
            "W2": {"id": "W2", "kind": "desk", "status": "shipped"},
        }

    def call(self, name: str, arguments: Mapping[str, Any], requestor: str = "assistant") -> CallResult:
        if self.breaks:
            raise EnvironmentCallError("the database is gone")
        if name == "get_user":
            found = arguments.get("email") == "mei@example.com"
            return CallResult({"orders": [dict(o) for o in self.orders.values()]}) if found else CallResult("no user", True)
        order = self.orders.get(str(arguments.get("order_id")))
        if order is None:
            return CallResult("Order not found", True)
        if name in ("cancel_order", "ship_order"):
            if order["status"] != "pending":
                return CallResult("Not pending", True)
            order["status"] = "cancelled" if name == "cancel_order" else "shipped"
            order["reason"] = arguments.get("reason")
            return CallResult({**order, "refund": 12.5})
        return CallResult(dict(order))

    def score(self, task_id: str, reported: Sequence[str]) -> Score:
        order = self.orders["W1"]
        state = float(
            order["status"] == "cancelled" and order["reason"] == "no longer needed" and self.orders["W2"]["status"] == "shipped"
        )
        told = float(any("12.5" in text for text in reported))
        return Score(state * told, {"DB": state, "COMMUNICATE": told}, "" if state * told else "not as asked")


def delegation(plan: Plan = PLAN, task_id: str = "cancel") -> Delegation:
    """What the toy orchestrator wants."""
    task = "I am mei@example.com. Cancel my lamp, no longer needed, and tell me what I get back."
    return Delegation(task_id, task, TOOLS, plan.to_graph())


def trial(protocol: object, environment: ToyEnvironment | None = None) -> Trial:
    """One scripted trial of `protocol`."""
    maker = TrialMaker("toy", environment or ToyEnvironment(), load_executor("scripted"))  # type: ignore[arg-type]
    return asyncio.run(maker.trial(delegation(), protocol, "p", 0))  # type: ignore[arg-type]


def benchmark(name: str, tasks: int) -> Benchmark:
    """The toy benchmark; every task is the same one."""
    return Benchmark(name, ToyEnvironment(), {f"cancel-{n}": delegation(task_id=f"cancel-{n}") for n in range(tasks)})  # type: ignore[arg-type]
