"""The model card: metadata for the Hub, and a page built from the run's manifest and an evaluation's trials."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from eval.export.adapter import Base
from eval.export.base import Kind
from eval.export.package import Run
from eval.export.proof import ADAPTER_FILE
from eval.export.results import Result, Results
from eval.report.model import ProtocolSummary
from eval.report.words import count, metric_title, metric_value, percent, times
from handoff.errors import ConfigError, InputError
from handoff.files import write_text
from handoff.models.locate import EXPORT_FILE

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCardData

TEMPLATE = "card.md"
RESULTS_FOLDER = ".eval_results"
OWN_LICENCE = "apache-2.0"
APACHE_BASES = (
    "google-t5/t5-small",
    "google-t5/t5-base",
    "Qwen/Qwen2.5-0.5B-Instruct",
    "Qwen/Qwen2.5-1.5B",
    "Qwen/Qwen2.5-1.5B-Instruct",
    "sentence-transformers/all-MiniLM-L6-v2",
)
"""Bases whose cards name Apache-2.0."""
HUB_DATASETS = {
    "tau2-retail": ("HuggingFaceH4/tau2-bench-data", "retail"),
    "tau2-airline": ("HuggingFaceH4/tau2-bench-data", "airline"),
}
"""Benchmark -> the Hub's data set with its tasks, and which of them."""
REPO_PLACE, REVISION_PLACE = "ORG/NAME", "REVISION"
ADAPTER_LOAD = (
    "from peft import AutoPeftModelForCausalLM",
    'model = AutoPeftModelForCausalLM.from_pretrained("{repo}", revision="{revision}")',
    "print(model.peft_config)",
)


def licence(chosen: str | None, base: Base | None) -> str:
    """The Hub's name of the licence. Raises ConfigError where a base's licence is not known and none was named."""
    if chosen is not None:
        return chosen
    if base is not None and base.id not in APACHE_BASES:
        raise ConfigError("the base's licence decides: name it", field="license", found=base.id)
    return OWN_LICENCE


def metadata(kind: Kind, run: Run, name: str, base: Base | None, chosen: str, results: Results | None) -> ModelCardData:
    """The card's YAML. huggingface_hub's own classes check it."""
    from huggingface_hub import ModelCardData

    extra: dict[str, Any] = {}
    if base is not None:
        extra["base_model_revision"] = base.revision
        extra["base_model_relation"] = "adapter" if kind.name == "grpo" and _is_adapter(run) else "finetune"
    entries: list[EvalResult] = []
    if results is not None:
        entries = [entry for result in results.own for entry in _entries(kind, results, result)]
    return ModelCardData(
        model_name=name,
        license=chosen,
        library_name="transformers",
        pipeline_tag=kind.task,
        base_model=base.id if base is not None else None,
        datasets=sorted({entry.dataset_type for entry in entries if "/" in entry.dataset_type}) or None,
        language="en",
        tags=["handoff", "agents", "prompt-compression" if kind.name != "router" else "routing", kind.name],
        eval_results=entries or None,
        **extra,
    )


def _is_adapter(run: Run) -> bool:
    return (run.folder / "model" / ADAPTER_FILE).exists()


def _entries(kind: Kind, results: Results, result: Result) -> list[EvalResult]:
    from huggingface_hub import EvalResult

    row, suite = result.row, results.suite
    dataset, config = HUB_DATASETS.get(result.benchmark, (result.benchmark, None))
    return [
        EvalResult(
            task_type=kind.task,
            dataset_type=dataset,
            dataset_name=result.title,
            dataset_config=config,
            dataset_args={"executor": suite.executor, "tasks": result.tasks, "seeds": len(suite.seeds)},
            metric_type=metric,
            metric_name=f"{row.title}: {metric.replace('_', ' ')}",
            metric_value=value,
            metric_config=row.protocol,
            metric_args=about,
        )
        for metric, value, about in _figures(results, row)
    ]


def _figures(results: Results, row: ProtocolSummary) -> Iterator[tuple[str, float, dict[str, Any] | None]]:
    """(metric, value, its interval or what it is relative to) of a protocol."""
    if row.reward is not None:
        yield results.measure, row.reward, {"low": row.low, "high": row.high} if row.low is not None else None
    if row.tokens is not None:
        yield "message_tokens", row.tokens.wire, None
        yield "total_tokens", row.tokens.total, None
    if row.compression is not None:
        yield "compression", row.compression.wire, {"against": results.suite.baseline}


def write_results(target: Path, results: Results) -> None:
    """`.eval_results/BENCHMARK_PROTOCOL.yaml`, one result a file, for the benchmarks whose data set the Hub knows."""
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    for result in results.own:
        if result.benchmark not in HUB_DATASETS or result.row.reward is None:
            continue
        dataset, task = HUB_DATASETS[result.benchmark]
        notes = f"{results.measure} of the handoff format {result.row.protocol!r}; executor: {results.suite.executor}"
        entry = EvalResultEntry(dataset_id=dataset, task_id=task, value=result.row.reward, notes=notes)
        text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True)
        write_text(target / RESULTS_FOLDER / f"{result.benchmark}_{result.row.protocol}.yaml", text)


def write_card(
    kind: Kind, run: Run, base: Base | None, chosen: str, results: Results | None, target: Path, repo: str | None
) -> str:
    """Write README.md into the export and return its text. Raises InputError where huggingface_hub does not accept it."""
    from huggingface_hub import ModelCard
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    name = repo.split("/")[1] if repo else run.folder.resolve().name
    try:
        data = metadata(kind, run, name, base, chosen, results)
    except ValueError as error:
        raise InputError(f"the card's metadata: {error}", file=run.folder) from error
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown, and every value is a record of this project or a configuration
    )
    environment.filters.update(percent=percent, count=count, times=times, title=metric_title, value=metric_value)
    places = {"repo": repo or REPO_PLACE, "revision": REVISION_PLACE}
    load = ADAPTER_LOAD if (target / ADAPTER_FILE).exists() else kind.load
    text = environment.get_template(TEMPLATE).render(
        kind=kind,
        name=name,
        base=base,
        licence=chosen,
        results=results,
        metrics={key: value for key, value in run.metrics.items() if isinstance(value, int | float | str)},
        origin=orjson.loads((target / EXPORT_FILE).read_bytes()),
        load="\n".join(load).format(**places),
        load_here="\n".join(kind.load_here).format(**places),
    )
    card = f"---\n{data.to_yaml()}\n---\n\n{text}"
    ModelCard(card)  # parses it as the Hub does
    write_text(target / "README.md", card)
    return card
