"""Our score equals the package's own evaluator: for the gold plan, with calls dropped, changed, doubled and reversed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.environment import package_score
from data.environments import load_environment
from data.environments.base import EnvTask
from data.environments.tau2 import Tau2Environment, import_package
from data.trajectory import ToolCall

pytestmark = pytest.mark.skipif(find_spec("tau2") is None, reason="the tau2 benchmark is not installed (make setup)")

Variant = tuple[str, list[ToolCall], list[str]]
"""What was done: a name, the calls made, the messages to the user."""


def variants(environment: Tau2Environment, task: EnvTask) -> Iterator[Variant]:
    """The gold plan, and the ways to miss it: the same for a task each time."""
    calls, told = list(task.gold), ["\n".join(task.communicate)]
    yield "gold", calls, told
    for number, call in enumerate(calls):
        if environment.is_write(call.name):
            yield f"without {call.id}", calls[:number] + calls[number + 1 :], told
    random = Random(task.id)
    if any(call.arguments for call in calls):
        yield "changed", changed(environment, calls, random), told
    if calls:
        yield "reversed", calls[::-1], told
        yield "one twice", [*calls, random.choice(calls)], told
    if task.communicate:
        yield "half told", calls, ["", *(info.upper() for info in task.communicate[1:])]


def changed(environment: Tau2Environment, calls: list[ToolCall], random: Random) -> list[ToolCall]:
    """One argument of one call, of a write where there is one, replaced by its value in another call or altered."""
    able = [number for number, call in enumerate(calls) if call.arguments]
    number = random.choice([n for n in able if environment.is_write(calls[n].name)] or able)
    arguments = dict(calls[number].arguments)
    name = random.choice(sorted(arguments))
    others = [call.arguments[name] for call in calls if call.arguments.get(name, arguments[name]) != arguments[name]]
    arguments[name] = random.choice(others) if others else altered(arguments[name])
    return [*calls[:number], calls[number].model_copy(update={"arguments": arguments}), *calls[number + 1 :]]


def altered(value: Any) -> Any:
    if isinstance(value, list):
        return value[::-1] if len(value) > 1 else []
    return value + 1 if isinstance(value, int | float) else f"{value}0"


def ours(
    environment: Tau2Environment, task: EnvTask, calls: list[ToolCall], told: list[str]
) -> tuple[float, dict[str, float], list[Any]]:
    """Reward and parts by our score, and the conversation as the package's messages."""
    message = import_package("data_model.message")
    environment.reset(task.id)
    messages: list[Any] = []
    for number, call in enumerate(calls):
        result = environment.call(call.name, call.arguments, call.requestor)
        made = message.ToolCall(id=str(number), name=call.name, arguments=call.arguments, requestor=call.requestor)
        sender = message.UserMessage if call.requestor == "user" else message.AssistantMessage
        messages.append(sender(role=call.requestor, tool_calls=[made]))
        answer = {"content": result.content, "error": result.error, "requestor": call.requestor}
        messages.append(message.ToolMessage(id=str(number), role="tool", **answer))
    messages += [message.AssistantMessage(role="assistant", content=text) for text in told]
    score = environment.score(task.id, told)
    return score.reward, score.parts, messages


def constructor(environment: Tau2Environment) -> Callable[..., Any]:
    """Makes the package's environments; large databases come from their file's text, read once, to spare time."""
    module = environment.shared.module
    path = Path(getattr(module, f"{environment.domain.upper()}_DB_PATH"))
    if path.suffix != ".json":
        return module.get_environment
    text, database = path.read_bytes(), type(environment.shared.databases[0].model)
    return lambda solo_mode=False: module.get_environment(db=database.model_validate_json(text), solo_mode=solo_mode)


def compare(domain: str, tasks: slice, some: int | None = None) -> dict[str, int]:
    """Compare both scores on (at most `some` of) the variants of the tasks; how often each reward came up."""
    loaded = load_environment(f"tau2-{domain}")
    assert isinstance(loaded, Tau2Environment)
    environment = loaded.fork()
    make, seen = constructor(environment), {"0": 0, "1": 0}
    for task in environment.tasks()[tasks]:
        for name, calls, told in list(variants(environment, task))[:some]:
            reward, parts, messages = ours(environment, task, calls, told)
            assert (reward, parts) == package_score(environment, task.id, messages, make), f"{domain} {task.id}: {name}"
            assert name != "gold" or reward == 1
            seen[f"{reward:.0f}"] += 1
    return seen


@pytest.mark.parametrize(
    ("domain", "tasks", "some"),
    [("retail", slice(16, 17), 2), ("airline", slice(7, 8), 2), ("telecom", slice(0, 114, 50), None)],
)
def test_scores_equal_the_packages_on_a_sample(domain: str, tasks: slice, some: int | None) -> None:
    seen = compare(domain, tasks, some)
    assert all(seen.values()), seen


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["retail", "airline", "telecom"])
def test_scores_equal_the_packages_on_every_task(domain: str) -> None:
    seen = compare(domain, slice(None))
    print(f"{domain}: compared {sum(seen.values())} runs, rewards {seen}")
    assert seen["0"] > 20
