"""How long a scripted trial takes, beside the benchmark package's own path: `python -m benchmarks.environment`.

A trial is one gold plan: reset, its calls, the score. Both sides run the same plans in this process, on one core. The
package's path is the one its runner takes: a new environment, its `get_response` for each call, then its evaluators,
which play the conversation again in a second environment, build the gold state in a third, and hash both. Ours runs
every plan several times, the package's a sample of them once, because it takes that long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from data.environments import load_environment
from data.environments.base import EnvTask
from data.environments.tau2 import Tau2Environment, import_package
from graph_handoff.console import table

DOMAINS, ROUNDS, SAMPLE = ("retail", "airline", "telecom"), 10, 10


def our_trial(environment: Tau2Environment, task: EnvTask) -> float:
    """Reset, the gold calls, the score: the reward."""
    environment.reset(task.id)
    for call in task.gold:
        environment.call(call.name, call.arguments, call.requestor)
    return environment.score(task.id, ["\n".join(task.communicate)]).reward


def package_start(environment: Tau2Environment, task_id: str) -> Any:
    """A new environment of the package, in the state in which the task begins."""
    package, start = environment.shared.module.get_environment(), environment.shared.raw[task_id].initial_state
    if start is not None:
        package.set_state(None, start.initialization_actions, [])
    return package


def package_conversation(package: Any, task: EnvTask) -> list[Any]:
    """The gold calls executed in the package's environment, as its messages."""
    message = import_package("data_model.message")
    messages: list[Any] = []
    for call in task.gold:
        made = message.ToolCall(id=call.id, name=call.name, arguments=call.arguments, requestor=call.requestor)
        sender = message.UserMessage if call.requestor == "user" else message.AssistantMessage
        messages += [sender(role=call.requestor, tool_calls=[made]), package.get_response(made)]
    return [*messages, message.AssistantMessage(role="assistant", content="\n".join(task.communicate))]


def package_score(
    environment: Tau2Environment, task_id: str, messages: list[Any], constructor: Callable[..., Any]
) -> tuple[float, dict[str, float]]:
    """Reward and parts as the package's `evaluate_simulation` puts them together from its evaluators.

    That function's own module needs a model client to be imported; the evaluators do not. `constructor` makes the
    package's environments.
    """
    raw = environment.shared.raw[task_id]
    named = import_package("evaluator.evaluator_env").EnvironmentEvaluator
    found = [named.calculate_reward(environment_constructor=constructor, task=raw, full_trajectory=messages)]
    for kind in ("action", "communicate"):
        evaluator = getattr(import_package(f"evaluator.evaluator_{kind}"), f"{kind.capitalize()}Evaluator")
        found.append(evaluator.calculate_reward(task=raw, full_trajectory=messages))
    parts = {basis: value for info in found for basis, value in info.reward_breakdown.items()}
    wanted = {basis.value: parts[basis] for basis in raw.evaluation_criteria.reward_basis}
    reward = 1.0
    for value in wanted.values():
        reward *= value
    return reward, wanted


def measure_ours(environment: Tau2Environment) -> tuple[float, float]:
    """Seconds a trial: in the first round, which also works out the gold states, and the mean of the later ones."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        rewards = {our_trial(environment, task) for task in environment.tasks()}
        rounds.append((time.perf_counter() - start) / len(environment.tasks()))
        assert rewards == {1.0}
    return rounds[0], sum(rounds[1:]) / len(rounds[1:])


def measure_package(environment: Tau2Environment) -> tuple[float, float, float]:
    """Seconds a trial for a new environment, the calls, and the evaluators: means over every n-th task."""
    tasks = environment.tasks()[:: max(1, len(environment.tasks()) // SAMPLE)]
    spent = [0.0, 0.0, 0.0]
    for task in tasks:
        marks = [time.perf_counter()]
        package = package_start(environment, task.id)
        marks.append(time.perf_counter())
        messages = package_conversation(package, task)
        marks.append(time.perf_counter())
        assert package_score(environment, task.id, messages, environment.shared.module.get_environment)[0] == 1.0
        marks.append(time.perf_counter())
        spent = [total + marks[n + 1] - marks[n] for n, total in enumerate(spent)]
    build, calls, score = (total / len(tasks) for total in spent)
    return build, calls, score


def main() -> None:
    rows = []
    for domain in DOMAINS:
        environment = load_environment(f"tau2-{domain}")
        assert isinstance(environment, Tau2Environment)
        first, later = measure_ours(environment)
        build, calls, score = measure_package(environment)
        total = build + calls + score
        times = [f"{1000 * seconds:.2f}" for seconds in (first, later, build, calls, score, total)]
        rows.append([domain, len(environment.tasks()), *times, f"{1 / later:.0f}", f"{1 / total:.1f}", f"{total / later:.0f}x"])
    columns = ["domain", "tasks", "ours, first", "ours", "package: new", "calls", "score", "total"]
    table([*columns, "ours/s", "package/s", "ratio"], rows, title="A gold trial: milliseconds, and trials a second")


if __name__ == "__main__":
    main()
