"""The words of the report: names and one-line meanings of protocols, failures and metrics, and how numbers are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"


class Name(NamedTuple):
    """A protocol's name for people, the short one for charts, and what it sends."""

    title: str
    short: str
    meaning: str


ORACLE, ORACLE_ALL = "oracle", "oracle-all"
"""Names of the rows that are computed, not run: no protocol may be called so."""

PROTOCOLS: dict[str, Name] = {
    "nl": Name("Prose (NL)", "Prose", "The plan in plain sentences, as an orchestrator would write it."),
    "ngh": Name("NGH (JSON)", "NGH JSON", "The plan as a typed graph (NGH) in minified JSON, with executor instructions."),
    "ngh-bare": Name("NGH without instructions", "NGH bare", "The same graph without the executor instructions: an ablation."),
    "compact": Name("Compact NGH", "Compact", "The same graph in a short line-based text, lossless and without training."),
    "routed": Name("Routed NGH", "Routed", "A router decides for each task whether the graph or prose crosses; no training."),
    "routed-distilled": Name(
        "Routed NGH, distilled router",
        "Routed, distilled",
        "A small classifier decides, which learned the rule router's decisions on other tasks.",
    ),
    "routed-compact": Name("Routed compact NGH", "Routed compact", "The rule router again; the graph crosses in compact form."),
    "rl": Name(
        "GRPO writer (RL)",
        "GRPO",
        "The graph in compact form, written by a decoder model from the prose plan; trained by examples, then by GRPO. Prose "
        "crosses where what it writes fails the checks.",
    ),
    "rl-sft": Name("GRPO writer before GRPO", "SFT", "The same model as the examples left it, before GRPO: where it started."),
    "t5": Name(
        "T5 autoencoder",
        "T5",
        "The plan's values, and a code word wherever the model that both sides share would write the graph wrong. Nothing is "
        "lost by construction, whatever the model: what training saves is tokens.",
    ),
    "t5-alone": Name(
        "T5 without corrections", "T5 alone", "The plan's values only; the model writes the graph alone: an ablation."
    ),
    "t5-text": Name(
        "T5 without graph supervision",
        "T5 text",
        "The same model taught to rebuild the prose plan, which the receiver then reads: an ablation.",
    ),
    "hybrid": Name(
        "Hybrid",
        "Hybrid",
        "The plan's calls in compact form, unchanged, and the user's request in fewer words by the token classifier.",
    ),
    "lingua": Name(
        "LLMLingua-2, graph labels",
        "LLMLingua-2",
        "The prose plan without the words that a token classifier leaves out; it learned from graphs which words are needed.",
    ),
    "lingua-blind": Name(
        "LLMLingua-2, blind labels",
        "Blind",
        "The same classifier, taught by word weights instead of graphs: an ablation.",
    ),
    "lingua-published": Name(
        "LLMLingua-2 as published", "LLMLingua-2*", "The prose plan through the published token classifier."
    ),
    "delta": Name(
        "Predictive delta",
        "Delta",
        "A plan that both sides know, the values of this one, and an edit script from the one to the other. Nothing is lost.",
    ),
    "tfidf": Name("TF-IDF keywords", "TF-IDF", "The words of the prose plan that weigh most."),
    ORACLE: Name("Oracle", "Oracle", "The best of the declared formats for each task, chosen after the outcome is known."),
    ORACLE_ALL: Name("Oracle, all formats", "Oracle, all", "The same over every protocol on this page that is not routed."),
}

PATTERNS: dict[str, tuple[str, str]] = {
    "aggregate": ("Aggregate", "The task asks for one value computed from several."),
    "iterate": ("Iterate", "The same is done for each of many."),
    "multi_app": ("Several applications", "Tools of more than one application are needed."),
    "conditional": ("Conditional", "What is done depends on what is found."),
    "simple": ("Simple", "None of these."),
}
"""Computational patterns by the rules of graph_handoff/routing/rules.py, each task under the first that fits."""

FAILURES: dict[str, tuple[str, str]] = {
    "unreadable_handoff": ("Unreadable handoff", "The receiver could not read the text at all."),
    "invalid_graph": ("Invalid graph", "The text gave a graph that breaks a rule of the schema."),
    "unresolved_reference": (
        "Unresolved reference",
        "A reference found nothing, or more than one thing, in the result it points into.",
    ),
    "guard_failed": ("Guard failed", "A precondition of the plan did not hold when its turn came."),
    "tool_error": ("Tool error", "The environment refused a call that it accepts when the plan itself is run."),
    "not_recorded": ("Not recorded", "Only recordings answered, and none of them holds a call that was made."),
    "missing_call": ("Missing call", "A call of the plan was never made."),
    "wrong_argument": ("Wrong argument", "A call was made with another value than the plan has."),
    "wrong_order": ("Wrong order", "The right calls, in an order that leads to another state."),
    "wrong_report": ("Wrong report", "The state is right; what the user was told is not."),
    "wrong_state": ("Wrong state", "The final state differs, and none of the other kinds explains why."),
    "unfaithful": ("Unfaithful", "The handoff holds an identifier that its source does not contain."),
    "protocol_error": ("Protocol error", "The protocol itself raised an error; counted as reward 0."),
    "executor_error": ("Executor error", "The executor could not go on, for instance because no model answered; reward 0."),
    "environment_error": ("Environment error", "The environment raised something that is not a tool's answer; reward 0."),
    "unexplained": ("Unexplained", "The reward is below 1 and no kind was recorded."),
}

FACTS: dict[str, tuple[str, str]] = {
    "tools": ("Tools", "Share of the plan's tool names that stand in the text."),
    "values": ("Values", "Share of the plan's argument values that stand in the text."),
    "order": ("Order", "Share of the plan's order pairs, one call before another, that the text keeps."),
}

GRAPH: dict[str, tuple[str, str]] = {
    "validity": ("Valid", "Share of handoffs that give a graph within the schema."),
    "node_f1": ("Node F1", "F1 of the nodes against the delegation's graph."),
    "edge_f1": ("Edge F1", "F1 of the edges against the delegation's graph."),
    "argument_name_f1": ("Arg. name F1", "F1 of argument names, calls of one tool matched by occurrence."),
    "argument_value_f1": ("Arg. value F1", "F1 of arguments with their values."),
    "order_violations": ("Order viol.", "Mean number of order edges that the executed order breaks."),
    "repaired": ("Repaired", "Share of handoffs that were read only after a repair."),
    "backoff": ("Backed off", "Share of handoffs in which prose crossed because no graph passed the sender's checks."),
}
SHARES = ("validity", "node_f1", "edge_f1", "argument_name_f1", "argument_value_f1")
"""Graph metrics for which a handoff that gives no graph counts 0."""


def protocol_title(protocol: str, titles: dict[str, str]) -> str:
    """The declared title, else the known one, else the raw name."""
    if protocol in titles:
        return titles[protocol]
    return PROTOCOLS[protocol].title if protocol in PROTOCOLS else protocol


def protocol_short(protocol: str, titles: dict[str, str]) -> str:
    """For charts: at most 18 characters."""
    name = PROTOCOLS[protocol].short if protocol in PROTOCOLS else titles.get(protocol, protocol)
    return name if len(name) <= 18 else f"{name[:17]}…"


def failure_title(kind: str) -> str:
    return FAILURES[kind][0]


def percent(share: float | None) -> str:
    """`0.8734` as `87.3`; what is below 1 never reads as 100.0."""
    if share is None:
        return DASH
    text = f"{100 * share:.1f}"
    return "99.9" if text == "100.0" and share < 1 else text


def points(difference: float | None) -> str:
    """A difference of shares in percentage points with its sign: `+12.7`, `−3.0`, `0.0`."""
    return DASH if difference is None else signed(100 * difference)


def signed(value: float | None) -> str:
    if value is None:
        return DASH
    text = f"{abs(value):.1f}"
    if text == "0.0":
        return text
    return f"{'+' if value > 0 else MINUS}{text}"


def span(low: float | None, high: float | None) -> str:
    """An interval of differences: `[+6.0, +19.3]`."""
    return "no interval" if low is None or high is None else f"[{points(low)}, {points(high)}]"


def p_text(p: float | None) -> str:
    if p is None:
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def count(value: float | None) -> str:
    """A count or a mean count: thousands separated, no decimals."""
    return DASH if value is None else f"{value:,.0f}"


def times(ratio: float | None) -> str:
    return DASH if ratio is None else f"{ratio:.1f}×"


def share(value: float | None) -> str:
    """A score in [0, 1] with two decimals; never rounded up to a perfect 1.00."""
    if value is None:
        return DASH
    return "0.99+" if 0.995 <= value < 1 else f"{value:.2f}"


METRICS: dict[str, str] = {
    "held_out_plans": "Held-out plans, of every domain of the corpus (count)",
    "too_long_plans": "Held-out plans too long for the model (count)",
    "validity": "Valid graphs (share)",
    "node_f1": "Node F1 (0 to 1)",
    "edge_f1": "Edge F1 (0 to 1)",
    "argument_name_f1": "Argument name F1 (0 to 1)",
    "argument_value_f1": "Argument value F1 (0 to 1)",
    "order_violations": "Order edges broken (mean count)",
    "corrections_a_plan": "Corrections that a plan needs (mean count)",
    "tokens_a_plan": "Tokens that the model writes for a plan (mean count)",
    "values_a_plan": "Values sent with a plan (mean count)",
    "reward": "Reward (0 to 1)",
    "whole": "Plans written whole (share)",
    "repair_rate": "Repaired to be read (share)",
    "failure_rate": "Could not be scored (share)",
    "valid_part": "Reward part: valid (0 to 1)",
    "faithful_part": "Reward part: faithful (0 to 1)",
    "fidelity_part": "Reward part: fidelity (0 to 1)",
    "brevity_part": "Reward part: brevity (0 to 1)",
    "reward_gain": "Reward gained by GRPO, on the same plans",
    "reward_gain_low": "Reward gained by GRPO, lower end of its 95 % interval",
    "reward_gain_high": "Reward gained by GRPO, upper end of its 95 % interval",
    "f1": "Words to keep: F1 (0 to 1)",
    "precision": "Words to keep: precision (share)",
    "recall": "Words to keep: recall (share)",
    "prose_value_f1": "Argument value F1, read from the whole prose (0 to 1)",
    "short_value_f1": "Argument value F1, read from the shortened prose (0 to 1)",
    "asked_rate": "Tokens to keep, as asked for here (share)",
    "achieved_rate": "Tokens kept (share)",
    "texts": "Texts shortened (count)",
    "training_plans": "Plans learned from (count)",
    "plan_prototypes": "Prototypes of plans (count)",
    "step_prototypes": "Prototypes of steps (count)",
    "part_prototypes": "Prototypes of parts of steps (count)",
    "tokens_a_message": "Tokens of a message (mean count)",
    "in_compact_form": "Sent in compact form, which was shorter (share)",
    "edits_a_plan": "Edits of a plan (mean count)",
    "steps_predicted": "Steps predicted right (share)",
    "steps_known": "Steps known from training (share)",
    "keep": "Words that are kept (share)",
    "agreement": "Agreement with the teacher at even odds (share)",
    "agreement_at_threshold": "Agreement with the teacher at the threshold (share)",
    "always_prose": "What prose for every task would reach (share)",
    "graph_share": "Sent as graphs at the threshold (share)",
    "tasks": "Tasks judged (count)",
    "ece_before": "Calibration error before temperature scaling (0 to 1)",
    "ece": "Calibration error (0 to 1)",
    "temperature": "Temperature",
    "threshold": "Threshold (0 to 1)",
    "default_weights": "Weights used by default",
    "int8_agreement": "int8 decides like fp32 (share)",
    "onnx_difference": "ONNX against torch, largest difference of logits",
    "reloaded_difference": "Loaded again against trained, largest difference of logits",
    "teacher": "Teacher",
}
"""What trainings measure, with the unit."""

PREFIXES = {
    "eval_": "",
    "held_out_": "",
    "corrected_": "With corrections: ",
    "alone_": "Without corrections: ",
    "start_": "Before GRPO: ",
}
"""Of a metric's name, and what they say of it."""

NOT_HELD_OUT = frozenset({"held_out_plans", "too_long_plans", "asked_rate", "achieved_rate", "texts", "training_plans", "keep"})
"""What is not measured on held-out plans: settings, counts (those of prototypes besides), the evaluation's own texts."""


def metric_title(name: str) -> str:
    """Label of a metric, known or not: `eval_node_f1` as `Node F1 (0 to 1)`."""
    if name in METRICS:
        return METRICS[name]
    for prefix, words in PREFIXES.items():
        if name.startswith(prefix):
            title = metric_title(name.removeprefix(prefix))
            return f"{words}{title[0].lower()}{title[1:]}" if words else title
    parts = name.split("_")
    for end in range(len(parts) - 1, 0, -1):
        title, _, unit = METRICS.get("_".join(parts[:end]), "").rpartition(" (")
        if title:
            return f"{title}, {' '.join(parts[end:])} ({unit}"
    return name.replace("_", " ").capitalize()


def metric_plans(training: Mapping[str, float | str | None], name: str) -> float | str | None:
    """How many held-out plans a model's figure was measured on; None where it has no such figure."""
    if training.get(name) is None or name in NOT_HELD_OUT or name.endswith("_prototypes"):
        return None
    return training.get("held_out_plans")


def metric_value(value: float | str | None) -> str:
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 2 else f"{value:.3g}"


def listed(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


_HIDDEN = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)}
_HIDDEN |= {code: f"⟨U+{code:04X}⟩" for code in (0x7F, *range(0x80, 0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x202F))}
_HIDDEN |= {code: f"⟨U+{code:04X}⟩" for code in (*range(0x2060, 0x206A), 0xFEFF, *range(0xD800, 0xE000))}


def visible(text: str, limit: int | None = None) -> str:
    """Text from a trial, for display: control and direction characters shown as signs, cut to `limit` characters.

    Escaping for HTML is the template's work; this keeps a text from hiding part of itself.
    """
    text = text.replace("\r\n", "\n").translate(_HIDDEN)
    if limit is not None and len(text) > limit:
        return f"{text[:limit]}\n… {len(text) - limit:,} more characters; the whole text is in trials.jsonl"
    return text
