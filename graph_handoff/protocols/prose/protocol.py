"""The NL baseline: the plan in words, as an orchestrator writes it to an executor.

The text says what the graph says, and the request once; docs/prose.md describes the phrasings and how long they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import Any

from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.plan import REPORT, Plan, Step
from graph_handoff.protocols.base import Protocol, Reading, Written
from graph_handoff.protocols.prose.reader import read_text
from graph_handoff.protocols.prose.wording import Wording, is_compound, listed, scalar

MAX_REQUEST_WORDS = 120
MAX_DESCRIPTION_WORDS = 14
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

_OPENINGS = (
    "We are working on the following user request:\n\n{request}\n\nPlease carry it out as follows.",
    "Please handle this request for the user.\n\n{request}\n\nHere is the plan to follow:",
    "The user's request reads:\n\n{request}\n\nTo address it, please take these steps in order.",
)
_OPENINGS_WITHOUT_REQUEST = (
    "Please carry out the following plan.",
    "Here is the plan to follow:",
    "Please take these steps in order.",
)
_CONNECTORS = ("Then", "Next,", "After that,")
_PREPOSITIONS = frozenset({"to", "by", "for", "from", "of", "in", "on", "with", "all"})


class Prose(Protocol):
    """The plan in words."""

    name = "nl"
    title = "Prose (NL)"
    short = "Prose"
    meaning = "The plan in plain sentences, as an orchestrator would write it."
    decodes = False

    def instructions(self, tools: Toolset) -> str:
        """Prose needs none."""
        return ""

    def write(self, delegation: Delegation, seed: int) -> Written:
        return Written(self.text_of(delegation, seed))

    def text_of(self, delegation: Delegation, seed: int) -> str:
        """The orchestrator's own words where the delegation has them; else a phrasing chosen by its id and `seed`."""
        if delegation.prose is not None:
            return delegation.prose
        plan = Plan.from_graph(delegation.graph)
        return _Writer(plan, delegation.tools, Random(f"{delegation.id}:{seed}")).write(delegation.task)

    def read(self, text: str, form: str, tools: Toolset) -> Reading:
        return Reading(text, read_text(text, tools))


@dataclass(frozen=True)
class _Style:
    """What a writer keeps to throughout a text."""

    layout: str
    """`numbered`: a sentence or two a step; `bulleted`: arguments below their step; `narrative`: one paragraph."""
    tool: str
    """`{}` within a phrase for a tool by its name; empty where a tool is named in words."""
    descriptions: bool
    """Tools in words: in the words of their description, where it begins like their name."""
    condition_first: bool
    words: Wording


def _choose_style(random: Random) -> _Style:
    layout = random.choice(("numbered", "numbered", "bulleted", "narrative"))
    return _Style(
        layout,
        random.choice(("call {}", "use {}", "call `{}`", "use the `{}` tool", "", "", "")),
        random.choice((True, False)),
        random.choice((True, False)),
        Wording(random.choice((True, False)), layout == "narrative", random.choice(("returned by", "from"))),
    )


class _Writer:
    """Plan -> text."""

    def __init__(self, plan: Plan, tools: Toolset, random: Random) -> None:
        self.plan, self.tools, self.random = plan, tools, random
        self.style = _choose_style(random)
        self.words = self.style.words

    def write(self, task: str) -> str:
        request = brief(task)
        if request:
            blocks = [self.random.choice(_OPENINGS).format(request=request)]
        else:
            blocks = [self.random.choice(_OPENINGS_WITHOUT_REQUEST)]
        if self.plan.goal and self.plan.goal not in task:
            blocks.append(f"The goal is this: {self.plan.goal}")
        if self.plan.rules:
            blocks.append("\n".join(["Keep to these rules:", *(f"- {rule}" for rule in self.plan.rules)]))
        blocks.append(self.steps() or "No tool needs to be called.")
        return "\n\n".join(blocks)

    def steps(self) -> str:
        steps = self.plan.steps
        if self.style.layout == "narrative":
            return " ".join(f"{self.connector(n)} {self.sentences(step)}" for n, step in enumerate(steps))
        lines = []
        for number, step in enumerate(steps, 1):
            if self.style.layout == "bulleted" and len(step.arguments) > 1 and not step.is_action:
                lines.append(f"{number}. {self.bulleted(step)}")
            else:
                lines.append(f"{number}. {_capital(self.sentences(step))}")
        return "\n".join(lines)

    def connector(self, number: int) -> str:
        if number == 0:
            return "First,"
        return "Finally," if number == len(self.plan.steps) - 1 else self.random.choice(_CONNECTORS)

    def sentences(self, step: Step) -> str:
        """A step as a sentence that begins with a small letter, and what else must be said about it."""
        conditions = listed(self.words.guard(guard) for guard in step.guards)
        first = conditions and self.style.condition_first
        command = self.command(step)
        sentence = _stop(f"check that {conditions}, and only then {command}" if first else command)
        own = [
            _stop(f"For the {self.words.key(name)}, pass {self.words.items(value)}")
            for name, value in self.shown(step).items()
            if is_compound(value)
        ]
        return " ".join([sentence, *own, *self.remarks(step, "" if first else conditions)])

    def shown(self, step: Step) -> dict[str, Any]:
        """The arguments that stand beside the command; those of a report are the command itself."""
        return {k: v for k, v in step.arguments.items() if not (step.is_action and step.name == REPORT and k == "info")}

    def command(self, step: Step) -> str:
        head = self.head(step)
        if step.is_action and step.name == REPORT:
            info = step.arguments.get("info", [])
            head = f"tell the user {self.words.value(info) if info or not isinstance(info, list) else 'that it is done'}"
        simple = {name: value for name, value in self.shown(step).items() if not is_compound(value)}
        arguments = listed(self.words.argument(name, value) for name, value in simple.items())
        return f"{head} with {arguments}" if arguments else head

    def bulleted(self, step: Step) -> str:
        """A step whose arguments stand below it, one a line."""
        lines = [f"{_capital(self.head(step))} with:"]
        lines += [f"   - {self.words.argument(name, value)}" for name, value in step.arguments.items()]
        conditions = listed(self.words.guard(guard) for guard in step.guards)
        remarks = self.remarks(step, conditions)
        return "\n".join([*lines, f"   {' '.join(remarks)}"] if remarks else lines)

    def remarks(self, step: Step, conditions: str) -> list[str]:
        """Conditions that have not been said yet, order, effects: a sentence each."""
        remarks = [f"Do this only if {conditions}."] if conditions else []
        if step.after:
            remarks.append(f"This must come after {listed(self.words.step(other) for other in step.after)}.")
        for effect in step.effects:
            place = self.words.path(effect.path) or "the result"
            remarks.append(f"Afterwards, {place} should be {scalar(effect.equals)}.")
        return remarks

    def head(self, step: Step) -> str:
        """What to do, without the arguments: `call get_order_details`, `get the order details`."""
        tool = self.tools.get(step.name)
        if self.style.tool and not step.is_action:
            return self.style.tool.format(step.name)
        described = describe(step.name, tool.description) if tool and self.style.descriptions else ""
        return described or name_in_words(step.name)


def brief(task: str) -> str:
    """What the user wants, in the task's own words: its first paragraph, whole sentences up to about MAX_REQUEST_WORDS."""
    paragraph = " ".join(task.strip().split("\n\n", 1)[0].split())
    kept: list[str] = []
    words = 0
    for sentence in _SENTENCE_END.split(paragraph):
        words += len(sentence.split())
        if kept and words > MAX_REQUEST_WORDS:
            break
        kept.append(sentence)
    return " ".join(kept)


def name_in_words(name: str) -> str:
    """`cancel the pending order` for cancel_pending_order; no article before a preposition; `by name and zip`."""
    verb, *rest = name.replace("-", "_").strip("_").split("_")
    if not rest:
        return verb
    if "by" in rest:
        by = rest.index("by") + 1
        rest = [*rest[:by], " and ".join(rest[by:])]
    article = [] if rest[0] in _PREPOSITIONS else ["the"]
    return " ".join([verb, *article, *rest])


def describe(name: str, description: str) -> str:
    """The first sentence of a tool's description as a command.

    Empty where it does not begin with the name's verb, is long, or has clauses after a comma, to which no argument can be added.
    """
    sentence = _SENTENCE_END.split(description.strip(), maxsplit=1)[0].split("\n\n")[0].rstrip(".")
    verb = name.split("_")[0].lower()
    first, *rest = sentence.split() or [""]
    if first.lower() not in (verb, f"{verb}s", f"{verb}es") or len(rest) >= MAX_DESCRIPTION_WORDS or "," in sentence:
        return ""
    return " ".join([verb, *rest])


def _stop(text: str) -> str:
    """A sentence with its full stop, where no quotation at its end has one."""
    return text if text.endswith(('."', '!"', '?"')) else f"{text}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
