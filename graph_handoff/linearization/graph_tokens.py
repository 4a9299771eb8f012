"""A plan's graph as the tokens that a model writes: lines of words (`writer`), joined to phrases (`vocabulary`)."""

from __future__ import annotations

from collections.abc import Sequence

from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError
from graph_handoff.linearization import automaton
from graph_handoff.linearization.constraint import END_TOKEN, DecodingConstraint, Encoded
from graph_handoff.linearization.grammar import LINE
from graph_handoff.linearization.lines import PlanLine, plan_of
from graph_handoff.linearization.memory import NEW, Memory
from graph_handoff.linearization.reader import read_line
from graph_handoff.linearization.vocabulary import Vocabulary
from graph_handoff.linearization.writer import linearize
from graph_handoff.plan import Plan
from graph_handoff.scalar import Scalar


def encode_plan(plan: Plan, tools: Toolset, vocabulary: Vocabulary) -> Encoded:
    """Raises CodecError where a plan cannot be written as lines."""
    lines = linearize(plan, tools, vocabulary.words)
    tokens = [token for line in lines for token in vocabulary.encode((*line.words, LINE))]
    return Encoded((*tokens, END_TOKEN), tuple(value for line in lines for value in line.values))


def decode_plan(tokens: Sequence[int], values: Sequence[Scalar], tools: Toolset, vocabulary: Vocabulary) -> Plan:
    """The inverse of `encode_plan`. Raises CodecError where the tokens describe no plan."""
    memory = Memory()
    entries = []
    words: list[str] = []
    taken = 0
    for word in (word for token in tokens if token != END_TOKEN for word in vocabulary.phrase(token)):
        if word != LINE:
            words.append(word)
            continue
        number = words.count(NEW)
        entries.append(read_line(PlanLine(tuple(words), tuple(values[taken : taken + number])), tools, memory))
        taken += number
        words = []
    if words or taken != len(values):
        raise CodecError("a line does not end" if words else "the lines take other values than there are")
    return plan_of(entries)


class GraphConstraint(DecodingConstraint):
    """Allows what the grammar allows, takes no more values than there are, and ends no line that cannot be read (a pointer to
    nothing, more arguments than the tool has)."""

    def __init__(self, vocabulary: Vocabulary, values: Sequence[Scalar], tools: Toolset) -> None:
        self.vocabulary, self.values, self.tools = vocabulary, values, tools
        self.state: automaton.State = ()
        self.line: tuple[str, ...] = ()
        self.taken = 0
        """Values of the lines before."""
        self.memory = Memory()

    def allows(self, token: int) -> bool:
        """May this token come next?"""
        left = len(self.values) - self.taken - self.line.count(NEW)
        if token == END_TOKEN:
            return not self.state and not left
        phrase = self.vocabulary.phrase(token)
        if phrase.count(NEW) > left or self._after(phrase) is None:
            return False
        return phrase[-1] != LINE or self._read((*self.line, *phrase[:-1]), self.memory.copy()) is not None

    def advance(self, token: int) -> None:
        """Move past one token that may come next."""
        phrase = self.vocabulary.phrase(token)
        self.state = self._after(phrase) or ()
        self.line += phrase
        if phrase[-1] == LINE:
            self.taken += self._read(self.line[:-1], self.memory) or 0
            self.line = ()

    def _after(self, phrase: tuple[str, ...]) -> automaton.State | None:
        return automaton.run(self.state or automaton.START, phrase)

    def _read(self, words: tuple[str, ...], memory: Memory) -> int | None:
        """Read a whole line into `memory`; the number of values it takes, or None where it cannot be read."""
        values = tuple(self.values[self.taken : self.taken + words.count(NEW)])
        try:
            read_line(PlanLine(words, values), self.tools, memory)
        except CodecError:
            return None
        return len(values)
