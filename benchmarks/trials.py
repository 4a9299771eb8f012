"""Scripted trials per second on one core, by protocol: encode, decode, run in the real environment, score, all metrics.

    python -m benchmarks.trials [--graphs data/store/graphs.jsonl] [--benchmark tau2-retail]

Each task is executed once, so no result is taken over from another seed. The last line is the same through inspect-ai.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from eval.bench import Bench
from eval.benchmarks import Inputs, load_benchmark
from eval.engine import Job, run_trials
from eval.executors import load_executor
from graph_handoff.protocols import load_protocol

PROTOCOLS = ("nl", "ngh", "ngh-bare", "compact")


async def seconds(bench: Bench, jobs: Sequence[Job]) -> float:
    """Processor time of the trials."""
    started = time.process_time()
    for job in jobs:
        await bench.trial(job)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=Path, default=Path("data/store/graphs.jsonl"))
    parser.add_argument("--benchmark", default="tau2-retail")
    arguments = parser.parse_args()
    benchmark = load_benchmark(arguments.benchmark, Inputs(arguments.graphs, "all"))

    def bench() -> Bench:
        return Bench({benchmark.name: benchmark}, {n: load_protocol(n) for n in PROTOCOLS}, load_executor("scripted"))

    for name in PROTOCOLS:
        jobs = [(benchmark.name, task, name, 0) for task in benchmark.delegations]
        asyncio.run(seconds(bench(), jobs[:1]))  # warm up
        print(f"{name:<10} {len(jobs) / asyncio.run(seconds(bench(), jobs)):6.0f} trials/s of processor time")
    jobs = [(benchmark.name, task, name, 0) for task in benchmark.delegations for name in PROTOCOLS]
    with tempfile.TemporaryDirectory() as logs:
        started = time.process_time()
        run_trials(jobs, bench().trial, lambda trial: None, Path(logs))
        print(f"{'inspect':<10} {len(jobs) / (time.process_time() - started):6.0f} trials/s, all protocols, its start included")


if __name__ == "__main__":
    main()
