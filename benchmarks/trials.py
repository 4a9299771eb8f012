"""Scripted trials a second on one core, by protocol: encode, decode, run in the real environment, score, all metrics.

    python -m benchmarks.trials [--graphs data/store/graphs.jsonl] [--benchmark tau2-retail]

Each task is carried out once, so no result is taken over from another seed. The last line is the same through inspect-ai.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from eval.benchmarks import load_benchmark
from eval.engine import run_trials
from eval.executors.scripted import ScriptedExecutor
from graph_handoff.protocols import load_protocol

PROTOCOLS = ("nl", "ngh", "ngh-bare", "compact")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=Path, default=Path("data/store/graphs.jsonl"))
    parser.add_argument("--benchmark", default="tau2-retail")
    arguments = parser.parse_args()
    benchmark = load_benchmark(arguments.benchmark, arguments.graphs, "all")
    protocols = {name: load_protocol(name) for name in PROTOCOLS}
    delegations = benchmark.delegations
    for name, protocol in protocols.items():
        ScriptedExecutor(benchmark.name, benchmark.environment).trial(
            next(iter(delegations.values())), protocol, name, 0
        )  # warm up
        executor = ScriptedExecutor(benchmark.name, benchmark.environment)
        started = time.process_time()
        for delegation in delegations.values():
            executor.trial(delegation, protocol, name, 0)
        print(f"{name:<10} {len(delegations) / (time.process_time() - started):6.0f} trials/s of processor time")
    executor = ScriptedExecutor(benchmark.name, benchmark.environment)
    jobs = [(benchmark.name, task, name, 0) for task in delegations for name in protocols]
    with tempfile.TemporaryDirectory() as logs:
        started = time.process_time()
        run_trials(jobs, lambda j: executor.trial(delegations[j[1]], protocols[j[2]], j[2], j[3]), lambda trial: None, Path(logs))
        print(f"{'inspect':<10} {len(jobs) / (time.process_time() - started):6.0f} trials/s, all protocols, its start included")


if __name__ == "__main__":
    main()
