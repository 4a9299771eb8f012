"""How long the prose baseline is, beside real delegations and the published figure; and what a simple reader makes of it.

    python -m benchmarks.prose                        gold plans of tau-bench retail, three phrasings each
    python -m benchmarks.prose --domain airline --seeds 10

Gold plans are replayed in their environment and labelled by data flow, as `handoff import` and `handoff label` do. The real
delegations are the orchestrator's messages in Who&When (read from --delegations; left out, saying so, where that is absent).
Prints o200k tokens and, for each format, fact recall and graph metrics of what the simple reader finds.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean, median, quantiles

from data.environments import load_environment
from data.environments.gold import replay_gold
from data.labels.dataflow import label
from data.labels.domain_facts import facts_of
from graph_handoff.codec import load_codec
from graph_handoff.console import say, table
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.fact_recall import recall
from graph_handoff.graph_metrics import compare
from graph_handoff.plan import Plan
from graph_handoff.protocols import load_protocol
from graph_handoff.protocols.prose.protocol import Prose, brief
from graph_handoff.protocols.prose.reader import read_text
from graph_handoff.protocols.tfidf import Keywords, fit
from graph_handoff.tokens import count_tokens

WHO_AND_WHEN = Path("data/store/public/who_and_when_handcrafted_20.json.gz")
"""The hand-crafted part of Who&When (Kevin355/Who_and_When on the Hub), one JSON array."""
KEEP = 0.5
"""Share of the words that TF-IDF keeps here."""
PUBLISHED = 730
"""Tokens of prose a delegation on tau-bench retail, as Routed Graph Handoff (arXiv 2608.25277) reports them."""
PLAN_BEGINS = "Here is the plan to follow as best as possible:"


def gold_delegations(domain: str) -> list[Delegation]:
    """One for each task whose gold plan has a call."""
    name = f"tau2-{domain}"
    tools = Toolset.from_schemas(load_environment(name).tools)
    found = []
    for trajectory in replay_gold(name):
        plan = label(trajectory, facts_of(trajectory), words="task").plan
        if plan.steps:
            found.append(Delegation(trajectory.task.id, trajectory.task.text, tools, plan.to_graph()))
    return found


def real_delegations(path: Path) -> dict[str, list[str]]:
    """The orchestrator's messages to one agent (one step each), and its plans for the whole request, with the request."""
    with gzip.open(path) as stream:
        records = json.load(stream)
    messages = [m["content"] for r in records for m in r["history"] if m["role"].startswith("Orchestrator (->")]
    plans = []
    for record in records:
        for message in record["history"]:
            if PLAN_BEGINS in message["content"]:
                plans.append(f"{record['question']}\n\n{message['content'].split(PLAN_BEGINS, 1)[1].strip()}")
                break
    return {"Who&When: one step": messages, "Who&When: request and plan": plans}


def row(name: str, texts: Iterable[str]) -> list[str]:
    counts = sorted(count_tokens(text) for text in texts)
    tenths = quantiles(counts, n=10) if len(counts) > 1 else [counts[0]] * 9
    figures = (mean(counts), median(counts), tenths[0], tenths[-1], counts[-1])
    return [name, str(len(counts)), *(f"{figure:.0f}" for figure in figures)]


def lengths(delegations: Sequence[Delegation], seeds: int, real: dict[str, list[str]]) -> None:
    prose = Prose()
    texts = [prose.text_of(delegation, seed) for delegation in delegations for seed in range(seeds)]
    rows = [row("prose baseline", texts)]
    rows.append(row("  of which the request", [brief(delegation.task) for delegation in delegations]))
    rows.append(row("  a step of it", [line for text in texts for line in text.split("\n") if line[:1].isdigit()]))
    rows += [row(name, found) for name, found in real.items()]
    for codec in ("json", "compact"):
        rows.append(row(f"NGH, {codec}", [load_codec(codec).encode(d.graph, d.tools) for d in delegations]))
    rows.append(["published: prose, retail", "150", str(PUBLISHED), "-", "-", "-", "-"])
    table(["text", "n", "mean", "median", "10 %", "90 %", "most"], rows, title="o200k tokens")


def fidelity(delegations: Sequence[Delegation], seeds: int) -> None:
    """What survives in each text, and what the simple reader makes of it."""
    prose = Prose()
    keywords = Keywords(fit(prose.text_of(delegation, 0) for delegation in delegations), KEEP)
    bare, compact = load_protocol("ngh-bare"), load_protocol("compact")
    writers: dict[str, Callable[[Delegation, int], str]] = {
        "prose": prose.text_of,
        "tfidf": lambda delegation, seed: " ".join(keywords.of(prose.text_of(delegation, seed))),
        "ngh-bare": lambda delegation, seed: bare.encode(delegation, seed).text,
        "compact": lambda delegation, seed: compact.encode(delegation, seed).text,
    }
    rows = []
    for name, write in writers.items():
        recalled, read = [], []
        for delegation in delegations:
            plan = Plan.from_graph(delegation.graph)
            for seed in range(seeds):
                text = write(delegation, seed)
                recalled.append(recall(plan, text, delegation.tools))
                read.append(compare(read_text(text, delegation.tools).to_graph(), delegation.graph))
        shares = [mean(getattr(found, kind) for found in recalled) for kind in ("tools", "values", "order")]
        shares += [mean(found[metric] for found in read) for metric in ("node_f1", "argument_name_f1", "argument_value_f1")]
        rows.append([name, *(f"{share:.3f}" for share in shares)])
    columns = ["text", "recall: tools", "values", "order", "read: node F1", "argument names", "argument values"]
    table(columns, rows, title="fact recall, and the plan that the simple reader finds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="retail")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--delegations", type=Path, default=WHO_AND_WHEN)
    options = parser.parse_args()
    delegations = gold_delegations(options.domain)
    if not options.delegations.exists():
        say(f"no real delegations: {options.delegations} is absent")
    real = real_delegations(options.delegations) if options.delegations.exists() else {}
    lengths(delegations, options.seeds, real)
    fidelity(delegations, options.seeds)


if __name__ == "__main__":
    main()
