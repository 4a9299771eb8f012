"""New training tasks for the router, composed of sentences of the existing ones.

A teacher that costs nothing can decide as many as wanted, and from these the classifier learns which words decide and which only
stand beside them.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from data.routing_tasks import RoutingTask
from graph_handoff.delegation import Delegation
from graph_handoff.routing import Router

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MOST_GUESTS, _MOST_PLANTED = 4, 3
_KEPT, _OWN, _EXCERPTS, _THINNED, _LOST, _PLANTED = 0.6, 0.8, 0.4, 0.5, 0.15, 0.5
"""Chances: that a sentence of a task is kept, that anything of it is, that a sentence is cut down to some words of it, that words
of a new task get lost, that then a word does, and that deciding words are put anywhere between the others."""


def recombine(tasks: Sequence[RoutingTask], teacher: Router, count: int, seed: int) -> Iterator[RoutingTask]:
    """`count` tasks: a part of one task, with its tools, and among it up to four sentences of any task.

    What decides is rare: of most sentences alone the teacher says the same, and of the others most show the same few phrases. So
    sentences are drawn by the words that decide them, and tasks by their domain: each phrase, and each domain, in proportion to
    the square root of its number. Half of the tasks get up to three such phrases without their sentences, too: these decide
    wherever they stand.
    """
    draw = random.Random(seed)
    sentences = [[s for s in _SENTENCE.split(task.delegation.task) if s.strip()] for task in tasks]
    guests = [sentence for own in sentences for sentence in own]
    phrases = [deciding_words(s, task.delegation, teacher) for task, own in zip(tasks, sentences, strict=True) for s in own]
    by_phrase, by_domain = _levelled(phrases), _levelled([task.domain for task in tasks])
    for number in range(count):
        (place,) = draw.choices(range(len(tasks)), cum_weights=by_domain)
        kept = [s for s in sentences[place] if draw.random() < _KEPT] if draw.random() < _OWN else []
        invited = draw.randint(0 if kept else 1, _MOST_GUESTS)
        for sentence in draw.choices(guests, cum_weights=by_phrase, k=invited):
            kept.insert(draw.randint(0, len(kept)), sentence)
        words = " ".join(_excerpt(s, draw) if draw.random() < _EXCERPTS else s for s in kept).split()
        if draw.random() < _THINNED:
            words = [word for word in words if draw.random() >= _LOST] or words
        if draw.random() < _PLANTED:
            for phrase in draw.choices(phrases, cum_weights=by_phrase, k=draw.randint(1, _MOST_PLANTED)):
                words.insert(draw.randint(0, len(words)), phrase)
        yield replace(
            tasks[place],
            delegation=replace(tasks[place].delegation, id=f"recombined/{number}", task=" ".join(filter(None, words))),
        )


def deciding_words(sentence: str, delegation: Delegation, teacher: Router) -> str:
    """The words of a sentence that the teacher cannot do without: words are left out, one after the other, as long as its reason
    stays the same. Empty where it has that reason for an empty task, too."""

    def reason(words: Sequence[str]) -> str:
        return teacher.route(replace(delegation, task=" ".join(words))).reason

    words = sentence.lower().split()
    given = reason(words)
    if reason([]) == given:
        return ""
    place = 0
    while place < len(words):
        fewer = words[:place] + words[place + 1 :]
        if reason(fewer) == given:
            words = fewer
        else:
            place += 1
    return " ".join(words)


def _levelled(kinds: Sequence[Hashable]) -> list[float]:
    """Cumulative weights by which a kind is drawn in proportion to the square root of its number."""
    counts = Counter(kinds)
    return list(accumulate(counts[kind] ** -0.5 for kind in kinds))


def _excerpt(sentence: str, draw: random.Random) -> str:
    """Some words in a row."""
    words = sentence.split()
    start = draw.randrange(len(words))
    return " ".join(words[start : start + draw.randint(2, 12)])
