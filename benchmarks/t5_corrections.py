"""What the corrections of the T5 autoencoder save, on held-out plans.

    python -m benchmarks.t5_corrections [--run RUN] [--limits 0 8 all]

One row a limit on the corrections of a message: tokens sent, how many graphs arrive whole and valid, node and edge F1 against
the plan that was sent (an unreadable one counts 0). Beside them the same model untrained; the plan's values with one token for
each of the model's (a dictionary of phrases, without a network); and the compact form.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from eval.benchmarks import Inputs, load_benchmark
from graph_handoff.artefacts import read_manifest
from graph_handoff.codec import load_codec
from graph_handoff.delegation import Delegation
from graph_handoff.errors import CodecError, GraphError
from graph_handoff.graph_metrics import compare
from graph_handoff.linearization.value_line import write_values
from graph_handoff.protocols.t5.autoencoder import GraphAutoencoder
from graph_handoff.protocols.t5.protocol import T5
from graph_handoff.tokens import count_tokens
from training.t5.train import T5Architecture, make_model

LIMITS = ("0", "1", "2", "4", "8", "all")


def row(name: str, protocol: T5, delegations: list[Delegation]) -> None:
    """Print what arrives of the delegations' graphs."""
    tokens = whole = 0
    sums = dict.fromkeys(("validity", "node_f1", "edge_f1"), 0.0)
    started = time.process_time()
    for delegation in delegations:
        try:
            handoff = protocol.encode(delegation, 0)
            tokens += handoff.tokens
            reading = protocol.decode(handoff, delegation.tools)
            graph = reading.graph or reading.plan.to_graph()
        except (CodecError, GraphError):
            graph = None
        whole += graph is not None and graph.same_as(delegation.graph)
        found = compare(graph, delegation.graph)
        sums = {key: value + found[key] for key, value in sums.items()}
    count = len(delegations)
    shares = "".join(f"{value / count:9.3f}" for value in (whole, *sums.values()))
    print(f"{name:<26}{tokens / count:8.1f}{shares}{1000 * (time.process_time() - started) / count:9.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="t5-tiny")
    parser.add_argument("--graphs", type=Path, default=Path("data/store/graphs.jsonl"))
    parser.add_argument("--benchmark", default="tau2-retail")
    parser.add_argument("--limits", nargs="+", default=LIMITS, help="numbers, or `all` for as many as the model needs")
    arguments = parser.parse_args()
    delegations = list(load_benchmark(arguments.benchmark, Inputs(arguments.graphs)).delegations.values())
    protocol = T5(arguments.run)
    print(f"{len(delegations)} held-out plans of {arguments.benchmark}, model {protocol.folder}")
    print(f"{'':<26}{'tokens':>8}{'whole':>9}{'valid':>9}{'node F1':>9}{'edge F1':>9}{'ms':>9}")
    for limit in (None if word == "all" else int(word) for word in arguments.limits):
        protocol = T5(arguments.run, limit)
        row("all corrections it needs" if limit is None else f"at most {limit} corrections", protocol, delegations)
    vocabulary = protocol.autoencoder.vocabulary
    architecture = read_manifest(protocol.folder)["config"]["architecture"]
    if architecture["base"] is None:
        untrained = T5(arguments.run)
        model = make_model(T5Architecture.model_validate(architecture), vocabulary, seed=0)
        model.config.supervision = protocol.autoencoder.supervision
        untrained.autoencoder = GraphAutoencoder(model, vocabulary)
        row("untrained, all corrections", untrained, delegations)
    dictionary = compact = 0
    for delegation in delegations:
        sent = protocol.target.encode(delegation, protocol.target.plain(delegation, 0))
        if sent is None:
            continue
        dictionary += len(sent.tokens) + count_tokens(write_values(sent.values))
        compact += count_tokens(load_codec("compact").encode(delegation.graph, delegation.tools))
    print(f"{'phrases, no network':<26}{dictionary / len(delegations):8.1f}")
    print(f"{'compact form':<26}{compact / len(delegations):8.1f}")


if __name__ == "__main__":
    main()
