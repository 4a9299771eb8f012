"""How long one delegation takes to write and to read, protocol by protocol: `python -m benchmarks.compress [--runs FOLDER]`.

Held-out retail plans (the corpus's test split), each written once and read once, one thread, models loaded and warm; medians of
processor time, and what arrives: mean o200k tokens, and the share of the graphs that arrive whole. LLMLingua-2 is there as it was
trained, and with random weights at the parameter count of each other model: the same work, whatever the weights. `floor` is the
compact form by the same clock: no model. A run that is missing is named and left out.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from data.corpus import read_corpus
from graph_handoff.console import say, table
from graph_handoff.delegation import Delegation
from graph_handoff.errors import CodecError, GraphError, InputError
from graph_handoff.protocols import Protocol, load_protocol
from graph_handoff.protocols.graph_writer.model import BATCH, GraphWriter
from graph_handoff.tokens import count_tokens
from training.lingua.train import LinguaArchitecture, make_model, make_tokenizer

RUNS = {"t5": "t5-tiny", "GRPO writer": "grpo-tiny", "SFT writer": "sft-tiny", "LLMLingua-2": "lingua-tiny"}
"""What it is called here -> the run of the quickstart."""
PROTOCOLS = {"t5": "t5", "GRPO writer": "rl", "SFT writer": "rl", "LLMLingua-2": "lingua"}
WIDTHS = range(8, 513, 4)  # hidden units that a classifier of a wanted size may have


class Entry(NamedTuple):
    """A line of the table before it is measured."""

    name: str
    protocol: Protocol
    parameters: int


def read_delegations(corpus: Path, domain: str) -> list[Delegation]:
    """The test split's plans of a domain."""
    rows = read_corpus(corpus)["test"]
    return [replace(row.delegation, id=row.id, prose=None) for row in rows if row.domain == domain]


def entries(runs: Path, corpus: Path, scratch: Path) -> Iterator[Entry]:
    """Every protocol whose run is there, and the random classifiers beside them."""
    sizes: dict[int, list[str]] = {}
    for name, run in RUNS.items():
        try:
            protocol = load_protocol(PROTOCOLS[name], run=str(runs / run))
        except InputError:
            say(f"left out: {name}, for {runs / run} is not there")
            continue
        parameters = int((protocol.model_info() or {}).get("parameters", 0))
        if name != "LLMLingua-2":
            sizes.setdefault(parameters, []).append(name)
        yield Entry(name, protocol, parameters)
    for wanted, names in sizes.items():
        protocol = load_protocol("lingua", model=str(random_classifier(wanted, corpus, scratch / str(wanted))))
        yield Entry(f"LLMLingua-2, random, sized as {', '.join(names)}", protocol, int(protocol.model_info()["parameters"]))  # type: ignore[attr-defined]
    for name, run in (("delta", "predictor"), ("tfidf", "tfidf")):
        try:
            yield Entry(name, load_protocol(name, run=str(runs / run)), 0)
        except InputError:
            say(f"left out: {name}, for {runs / run} is not there")
    yield Entry("compact (floor)", load_protocol("compact"), 0)


def random_classifier(wanted: int, corpus: Path, folder: Path) -> Path:
    """A BERT token classifier with random weights, as near to `wanted` parameters as its width allows."""
    texts = [row.prose for row in read_corpus(corpus)["train"][:400]]
    vocabulary = 1000 if wanted < 500_000 else 4000  # a small model must not be all embeddings
    tokenizer = make_tokenizer(LinguaArchitecture(vocabulary=vocabulary), texts)

    def model(hidden: int) -> Any:
        return make_model(LinguaArchitecture(vocabulary=vocabulary, hidden=hidden, feed_forward=2 * hidden), tokenizer, 0)

    def parameters(hidden: int) -> int:
        return sum(p.numel() for p in model(hidden).parameters())

    low = next((place for place, hidden in enumerate(WIDTHS) if parameters(hidden) >= wanted), len(WIDTHS) - 1)
    width = min(WIDTHS[max(0, low - 1) : low + 1], key=lambda hidden: abs(parameters(hidden) - wanted))
    model(width).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


def measured(protocol: Protocol, delegations: Sequence[Delegation]) -> list[str]:
    """Median milliseconds to encode and to decode, mean tokens, share that arrives whole; the first delegation only warms up."""
    encoding, decoding, tokens, whole = [], [], [], []
    for delegation in delegations:
        started = time.process_time()
        text = protocol.encode(delegation, 0)
        written = time.process_time()
        try:
            graph = protocol.decode(text, delegation.tools).graph
        except (CodecError, GraphError):
            graph = None
        decoding.append(time.process_time() - written)
        encoding.append(written - started)
        tokens.append(count_tokens(text))
        whole.append(graph is not None and graph.same_as(delegation.graph))
    times = [f"{1000 * statistics.median(part[1:]):.2f}" for part in (encoding, decoding)]
    return [*times, f"{statistics.mean(tokens[1:]):.0f}", f"{statistics.mean(whole[1:]):.2f}"]


def in_batches(writer: GraphWriter, delegations: Sequence[Delegation]) -> tuple[float, float]:
    """Delegations a second that a writer writes one by one, and up to BATCH at a time."""
    texts = [writer.source_of(one).text for one in delegations]

    def speed(write: Callable[[], Any]) -> float:
        started = time.process_time()
        write()
        return len(texts) / (time.process_time() - started)

    return speed(lambda: [writer.write([text]) for text in texts]), speed(lambda: writer.write(texts))


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("checkpoints"), help="the folder with the runs of the quickstart")
    parser.add_argument("--corpus", type=Path, default=Path("data/store/corpus"))
    parser.add_argument("--domain", default="retail")
    parser.add_argument("--limit", type=int, default=41, help="plans, the first of which warms up")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    delegations = read_delegations(arguments.corpus, arguments.domain)[: arguments.limit]
    rows = []
    batches = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, protocol, parameters in entries(arguments.runs, arguments.corpus, Path(scratch)):
            rows.append([name, f"{parameters:,}" if parameters else "-", *measured(protocol, delegations)])
            writer = getattr(protocol, "writer", None)
            if isinstance(writer, GraphWriter):
                alone, together = in_batches(writer, delegations)
                batches.append(f"{name}: {alone:.1f} plans/s one by one, {together:.1f} in batches of {BATCH}")
    title = f"{len(delegations) - 1} held-out plans of {arguments.domain}, one thread, median ms of processor time a delegation"
    table(["", "parameters", "encode ms", "decode ms", "tokens", "whole"], rows, title=title)
    for line in batches:
        say(line)


if __name__ == "__main__":
    main()
