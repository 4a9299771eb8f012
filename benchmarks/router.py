"""How long one routing decision takes on one CPU thread: `python -m benchmarks.router [--runs FOLDER]`.

Tokenising included; medians and 95th percentiles of the time on the clock, over tasks of the router's own held-out kind (BFCL,
retail, airline). Cold start is a new process that imports handoff and loads the router, less a process that does nothing. Beside
them the LLM router's tokens, and a classifier of the shape of RouteLLM's BERT router (xlm-roberta-base) with random weights and
the tiny router's token ids: the same arithmetic, whatever the weights; its tokenising is not counted. A run
that is missing is left out.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter
from typing import Any

from data.delegations import routing_tasks
from handoff.console import say, table
from handoff.delegation import Delegation
from handoff.errors import InputError
from handoff.routing.distilled import FILES, DistilledRouter, describe
from handoff.routing.llm import overhead

RUNS = {"tiny": "router-tiny", "MiniLM": "router-minilm"}
TASKS, PEER_TASKS, STARTS = 1000, 20, 5
LOAD = "import sys; from handoff import load_router; load_router(sys.argv[1], sys.argv[2])"


def delegations(corpus: Path) -> list[Delegation]:
    """A seeded choice of TASKS."""
    tasks, _ = routing_tasks(("tau2-retail", "tau2-airline", "bfcl"), corpus)
    return [task.delegation for task in random.Random(0).sample(tasks, min(TASKS, len(tasks)))]


def milliseconds(call: Callable[[Any], Any], items: Iterable[Any]) -> tuple[float, float]:
    """Median and 95th percentile of one call, after a warm-up with the first items."""
    rows = list(items)
    for row in rows[:3]:
        call(row)
    times = []
    for row in rows:
        started = perf_counter()
        call(row)
        times.append(1000 * (perf_counter() - started))
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def cold_start(run: Path, precision: str) -> float:
    """Seconds from a bare interpreter to a loaded router, the least of STARTS."""

    def least(code: str) -> float:
        times = []
        for _ in range(STARTS):
            started = perf_counter()
            subprocess.run([sys.executable, "-c", code, str(run), precision], check=True)
            times.append(perf_counter() - started)
        return min(times)

    return least(LOAD) - least("pass")


def peer() -> Callable[[list[int]], Any]:
    """xlm-roberta-base's sizes (Conneau et al. 2020: 12 layers, 768 hidden, 250,002 tokens) under two labels, in torch."""
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

    torch.set_num_threads(1)
    sizes = XLMRobertaConfig(vocab_size=250_002, max_position_embeddings=514, type_vocab_size=1, num_labels=2)
    model = XLMRobertaForSequenceClassification(sizes).train(False)

    def call(ids: list[int]) -> Any:
        with torch.inference_mode():
            return model(input_ids=torch.tensor([ids]))

    return call


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("checkpoints"))
    parser.add_argument("--corpus", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    tasks = delegations(arguments.corpus)
    rows: list[list[str]] = []
    ids: list[list[int]] = []
    for name, run in RUNS.items():
        for precision in FILES:
            try:
                router = DistilledRouter(arguments.runs / run, precision)
            except InputError as error:
                say(f"{name} is left out: {error}")
                break
            median, late = milliseconds(router.route, tasks)
            ids = ids or [router.classifier.encode(describe(task)).ids for task in tasks[:PEER_TASKS]]
            start = cold_start(arguments.runs / run, precision)
            rows.append([f"{name} {precision}", f"{median:.2f}", f"{late:.2f}", f"{start:.2f}"])
    if ids:
        median, late = milliseconds(peer(), ids)
        rows.append(["xlm-roberta-base, random weights", f"{median:.1f}", f"{late:.1f}", ""])
    table(["router", "median ms", "p95 ms", "cold start s"], rows, title=f"{len(tasks)} decisions, one thread")
    say(f"LLM router: {overhead()} tokens a decision beside the task's own words")


if __name__ == "__main__":
    main()
