"""A trial as a conversation, for `inspect view`: what the executor was told and sent, what it called, what it reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from data.trajectory import Message
from eval.trial import StepRecord, Trial

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage
    from inspect_ai.scorer import Score


def messages_of(trial: Trial) -> list[ChatMessage]:
    """Instructions as the system's message, the handoff as the user's, then the calls with their results, and the report.

    Where the protocol decodes, a second message of the user holds what the executor reads. The conversation of an executor with a
    model is shown as it was recorded.
    """
    if trial.messages:
        return list(map(_recorded, trial.messages))
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    found: list[ChatMessage] = [ChatMessageSystem(content=trial.instructions)] if trial.instructions else []
    found.append(ChatMessageUser(content=trial.handoff))
    if trial.decoded is not None:
        found.append(ChatMessageUser(content=trial.decoded, metadata={"decoded": True}))
    for step in trial.steps:
        found += _step(step)
    if trial.report:
        found.append(ChatMessageAssistant(content="\n".join(trial.report)))
    return found


def _step(step: StepRecord) -> Iterator[ChatMessage]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool
    from inspect_ai.tool import ToolCall, ToolCallError

    if step.is_action:
        return
    if step.arguments is None:
        yield ChatMessageAssistant(content=f"{step.id} {step.tool} was not called ({step.status}): {step.detail}")
        return
    yield ChatMessageAssistant(content="", tool_calls=[ToolCall(step.id, step.tool, step.arguments)])
    error = ToolCallError("unknown", step.detail) if step.status == "tool_error" else None
    yield ChatMessageTool(content=step.detail, tool_call_id=step.id, function=step.tool, error=error)


def _recorded(message: Message) -> ChatMessage:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall, ToolCallError

    text = message.content or ""
    if message.role == "assistant":
        calls = [ToolCall(call.id, call.name, dict(call.arguments)) for call in message.tool_calls]
        return ChatMessageAssistant(content=text, tool_calls=calls or None)
    if message.role == "tool":
        error = ToolCallError("unknown", text) if message.error else None
        return ChatMessageTool(content=text, tool_call_id=message.tool_call_id, error=error)
    return ChatMessageSystem(content=text) if message.role == "system" else ChatMessageUser(content=text)


def about(trial: Trial) -> dict[str, Any]:
    """What a sample's metadata say beside its key."""
    route = trial.route
    return {
        "failure": trial.failure,
        "tokens": trial.tokens.model_dump() | {"total": trial.tokens.total},
        "graph_metrics": trial.graph_metrics,
        "route": None if route is None else route.model_dump(),
        "stop": trial.stop,
    }


def score_of(trial: Trial) -> Score:
    """The benchmark's reward, with its parts beside it."""
    from inspect_ai.scorer import Score

    return Score(
        value=trial.reward,
        answer="\n".join(trial.report) or None,
        explanation=trial.detail or None,
        metadata={"parts": trial.reward_parts, "failure": trial.failure},
    )
