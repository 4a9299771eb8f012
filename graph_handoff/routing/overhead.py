"""When is a router worth its tokens? TRIAGE's rule (arXiv 2609.01428): route by overhead / execution cost.

TRIAGE measured a language model as router at 224 tokens a query against some 197 of execution, and it lost: what decides may cost
only a fraction of what the decision saves. The saving of a router here, against sending everything as prose:

    saving = graph_share * ((prose - graph) + success_gain * execution)

`graph_share` is the share that it sends as graphs, `prose` and `graph` are the tokens that the executor reads of either
(instructions included), `success_gain` is how much more often a graph's execution succeeds, `execution` what a failed one wastes.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_handoff.errors import ConfigError

THRESHOLD = 1.0
"""Overhead / saving below which routing pays: at 1 it breaks even."""


@dataclass(frozen=True)
class Overhead:
    """The rule's figures for one delegation, or for the means of several. Sizes in o200k tokens."""

    router: float
    """What a decision costs."""
    graph: float
    """What the executor reads of a graph, its instructions included."""
    prose: float
    """What the executor reads of prose."""
    graph_share: float = 1.0
    """Share in [0, 1] that the router sends as graphs."""
    execution: float = 0.0
    """What an execution costs that fails for want of the better format."""
    success_gain: float = 0.0
    """How much more often, in [-1, 1], a graph's execution succeeds than prose's, where the router takes the graph."""
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        limits = {"graph_share": (0.0, 1.0), "success_gain": (-1.0, 1.0)}
        for field in ("router", "graph", "prose", "execution", "threshold", *limits):
            low, high = limits.get(field, (0.0, float("inf")))
            if not low <= getattr(self, field) <= high:
                raise ConfigError(f"must be from {low:g} to {high:g}", field=field, found=getattr(self, field))

    @property
    def gain(self) -> float:
        """Tokens that one graph saves against prose; below 0 where it costs more."""
        return self.prose - self.graph + self.success_gain * self.execution

    @property
    def saving(self) -> float:
        """Tokens saved on average, the router's own cost not counted."""
        return self.graph_share * self.gain

    @property
    def ratio(self) -> float | None:
        """Overhead / saving; None where nothing is saved."""
        return self.router / self.saving if self.saving > 0 else None

    @property
    def worth(self) -> bool:
        """The rule: overhead / saving is below the threshold."""
        return self.ratio is not None and self.ratio < self.threshold

    @property
    def break_even_share(self) -> float | None:
        """The share of graphs from which on the rule is met; above 1: never; None where a graph saves nothing."""
        return self.router / (self.threshold * self.gain) if self.gain > 0 and self.threshold > 0 else None

    @property
    def needed(self) -> float | None:
        """Tokens of execution that each graph must spare for the rule to be met; 0 where its shorter message is enough."""
        if self.graph_share == 0:
            return None
        return max(0.0, self.router / (self.threshold * self.graph_share) - (self.prose - self.graph))

    def sentence(self) -> str:
        """The verdict in words, with the figures it rests on."""
        if self.graph_share == 0:
            return f"Not worth it: nothing is sent as a graph, and {self.router:.0f} tokens are spent on deciding so."
        if self.gain <= 0:
            return (
                f"Not worth it in tokens: {self.router:.0f} of routing, and a graph costs {abs(self.gain):.0f} more than prose. "
                f"Each graph would have to spare {self.needed:.0f} tokens of execution, by succeeding where prose fails."
            )
        share = self.break_even_share
        even = (
            f"it pays from {100 * share:.0f} % graphs on" if share is not None and share <= 1 else "no share of graphs is enough"
        )
        return (
            f"{'Worth it' if self.worth else 'Not worth it'}: {self.router:.0f} tokens of routing against {self.saving:.0f} "
            f"saved ({100 * self.graph_share:.0f} % graphs, {self.gain:.0f} tokens each) is a ratio of {self.ratio or 0:.2f}, "
            f"the threshold {self.threshold:g}; {even}."
        )
