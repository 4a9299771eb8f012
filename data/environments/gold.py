"""Gold replay: a benchmark's own plan, executed in its real environment, as trajectories."""

from __future__ import annotations

from collections.abc import Iterator

from data.environments import load_environment
from data.environments.base import BenchmarkEnvironment, EnvTask
from data.trajectory import Message, RecordedOutcome, TaskInfo, Trajectory


def replay_gold(name: str) -> Iterator[Trajectory]:
    """One closed trajectory for each task of the environment `name`, in the benchmark's order.

    The user's message is the task. Each gold call follows with the result it had, made by the one who makes it in the
    plan; a last message tells the user what the task asks to be told, one item a line, where it asks for any. Raises what
    `load_environment` raises.
    """
    environment = load_environment(name).fork()
    for task in environment.tasks():
        yield replay(environment, task)


def replay(environment: BenchmarkEnvironment, task: EnvTask) -> Trajectory:
    """Execute one task's gold plan in `environment`, which is left in the final state."""
    environment.reset(task.id)
    messages = [Message(role="user", content=task.text)]
    for call in task.gold:
        messages.append(Message(role=call.requestor, tool_calls=(call,)))
        result = environment.call(call.name, call.arguments, call.requestor)
        messages.append(Message(role="tool", content=result.content, tool_call_id=call.id, error=result.error))
    reported = ("\n".join(task.communicate),) if task.communicate else ()
    messages += [Message(role="assistant", content=text) for text in reported]
    return Trajectory(
        id=f"gold-{environment.name}-{task.id}",
        source="gold",
        task=TaskInfo(id=task.id, text=task.text, domain=environment.domain, gold=task.gold, communicate=task.communicate),
        messages=tuple(messages),
        environment=environment.name,
        outcome=RecordedOutcome(reward=environment.score(task.id, reported).reward),
    )
