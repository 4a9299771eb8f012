"""Training speed of our loops against plain scripts: the same model, data and steps through Seq2SeqTrainer and TRL alone.

    python -m benchmarks.training [--corpus data/store/corpus] [--steps 40] [--rounds 3] [--loops t5 sft grpo]

Ours is what `handoff train` runs (`run_loop.train`: log file, signals, early stopping); plain is the library's trainer with
the same settings, the same order of batches and nothing else of ours but the data. Neither evaluates or saves in between. Both
take turns to go first, on one thread. A step of a side takes the least time that it took in any round, because other work on the
machine only adds to it; a run's first steps are not timed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from graph_handoff.console import say, set_quiet, table
from graph_handoff.protocols.t5.target import GraphTarget
from training.graph_writer import grpo, sft
from training.graph_writer.common import WriterConfig, as_dataset, count, load_cases, load_start, shared_training
from training.graph_writer.rewards import Scored, graph_f1, score
from training.run_loop import RunConfig, epoch_order, train
from training.t5 import train as t5
from training.t5.examples import encode_rows, read_rows

WARM_UP = 5


class Loop(NamedTuple):
    """Makes a trainer afresh: ours with its configuration, and the plain one."""

    ours: Callable[[Path], tuple[Any, RunConfig]]
    plain: Callable[[Path], Any]


class Clock:
    """The times at which steps end."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def callback(self) -> Any:
        from transformers import TrainerCallback

        ends = self.ends

        class Ends(TrainerCallback):
            def on_step_end(self, *args: Any, **kwargs: Any) -> None:
                ends.append(time.perf_counter())

        return Ends()

    @property
    def seconds(self) -> list[float]:
        """Of each step after the warm-up."""
        return [later - earlier for earlier, later in pairwise(self.ends[WARM_UP - 1 :])]


def timed(run: Callable[[Any], None], trainer: Any) -> list[float]:
    """Seconds of each step of a trainer that `run` drives."""
    from transformers import PrinterCallback

    clock = Clock()
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(clock.callback())
    run(trainer)
    return clock.seconds


def plain_arguments(folder: Path, config: Any) -> dict[str, Any]:
    """The settings that both sides share, for the plain script."""
    return {
        "output_dir": str(folder),
        "max_steps": config.steps,
        "per_device_train_batch_size": config.batch_size,
        "learning_rate": config.learning_rate,
        "warmup_steps": config.warmup_steps,
        "weight_decay": config.weight_decay,
        "save_strategy": "no",
        "logging_steps": 50,
        "disable_tqdm": True,
        "report_to": [],
        "use_cpu": True,
        "bf16": False,
        "seed": config.seed,
        "remove_unused_columns": False,
    }


def t5_loop(corpus: Path, steps: int) -> tuple[Loop, float]:
    """The loop, and the tokens of a step."""
    from graph_handoff.config import load_config

    config = load_config(t5.CONFIG, "configs/t5/tiny.yaml", {"corpus": str(corpus), "steps": str(steps), "eval_steps": "100000"})
    vocabulary, pairs = encode_rows(read_rows(corpus), GraphTarget, config.vocabulary)
    encoded = {split: [sent for _, sent in part] for split, part in pairs.items()}

    def ours(folder: Path) -> tuple[Any, RunConfig]:
        own = config.model_copy(update={"run": folder})
        return t5.make_trainer(own, t5.make_model(config.architecture, vocabulary, 0), vocabulary, encoded), own

    def plain(folder: Path) -> Any:
        from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments

        like = ours(folder)[0]
        arguments = Seq2SeqTrainingArguments(
            **plain_arguments(folder, config), lr_scheduler_type="cosine", train_sampling_strategy="group_by_length"
        )
        return Seq2SeqTrainer(
            model=like.model, args=arguments, train_dataset=like.train_dataset, data_collator=like.data_collator
        )

    data = ours(Path(tempfile.gettempdir()))[0].train_dataset
    tokens = statistics.mean(len(row["input_ids"]) + len(row["labels"]) for row in data) * config.batch_size
    return Loop(ours, plain), tokens


def writer_parts(stage: Any, name: str, corpus: Path, steps: int) -> tuple[Any, dict[str, list[Any]]]:
    """A writer stage's tiny configuration, and its cases."""
    from graph_handoff.config import load_config

    overrides = {"corpus": str(corpus), "steps": str(steps), "eval_steps": "100000"}
    config: WriterConfig = load_config(stage.CONFIG, f"configs/{name}/tiny.yaml", overrides)
    return config, load_cases(config)


def sft_loop(corpus: Path, steps: int) -> tuple[Loop, float]:
    config, cases = writer_parts(sft, "sft", corpus, steps)

    def ours(folder: Path) -> tuple[Any, RunConfig]:
        own = config.model_copy(update={"run": folder})
        return sft.make_trainer(own, load_start(own, cases["train"]), cases), own

    def plain(folder: Path) -> Any:
        from trl import SFTConfig, SFTTrainer

        writer = load_start(config, cases["train"])
        arguments = SFTConfig(
            **plain_arguments(folder, config),
            **shared_training(config),
            completion_only_loss=True,
            max_length=None,
            lr_scheduler_type="cosine",
            train_sampling_strategy="group_by_length",
        )
        data = as_dataset(cases["train"], writer, config)
        return SFTTrainer(model=writer.model, args=arguments, train_dataset=data, processing_class=writer.tokenizer)

    writer = load_start(config, cases["train"])
    data = as_dataset(cases["train"], writer, config)
    lengths = [a + b for a, b in zip(count(data["prompt"], writer), count(data["completion"], writer), strict=True)]
    return Loop(ours, plain), statistics.mean(lengths) * config.batch_size


def grpo_loop(corpus: Path, steps: int) -> tuple[Loop, float]:
    """From random weights and without a KL term, which needs a run to start from: completions have their full length."""
    config, cases = writer_parts(grpo, "grpo", corpus, steps)
    sizes = writer_parts(sft, "sft", corpus, steps)[0].architecture
    config = config.model_copy(update={"architecture": sizes, "init": None, "max_zero_variance": 1.0, "beta": 0.0})

    def ours(folder: Path) -> tuple[Any, RunConfig]:
        folder.mkdir(parents=True, exist_ok=True)
        own = config.model_copy(update={"run": folder})
        return grpo.make_trainer(own, load_start(own, cases["train"]), cases, graph_f1), own

    def plain(folder: Path) -> Any:
        from trl import GRPOConfig, GRPOTrainer

        writer = load_start(config, cases["train"])
        references = [length + 1 for length in count([case.target for case in cases["train"]], writer)]

        def reward(completions: list[str], completion_ids: list[list[int]], case: list[int], **_: Any) -> list[float]:
            found = [
                score(text, len(ids), references[place], cases["train"][place], graph_f1)
                for text, ids, place in zip(completions, completion_ids, case, strict=True)
            ]
            return [one.reward for one in found if isinstance(one, Scored)]

        arguments = GRPOConfig(
            **plain_arguments(folder, config),
            **shared_training(config),
            num_generations=config.generations,
            max_completion_length=config.max_new_tokens,
            steps_per_generation=config.gradient_accumulation,
            temperature=config.temperature,
            beta=config.beta,
            lr_scheduler_type="constant_with_warmup",
        )
        data = as_dataset(cases["train"], writer, config).remove_columns("completion")
        return GRPOTrainer(
            model=writer.model, reward_funcs=reward, args=arguments, train_dataset=data, processing_class=writer.tokenizer
        )

    writer = load_start(config, cases["train"])
    prompts = statistics.mean(count(as_dataset(cases["train"], writer, config)["prompt"], writer))
    return Loop(ours, plain), (prompts + config.max_new_tokens) * config.batch_size


def grpo_shares(loop: Loop) -> str:
    """What a step of our GRPO loop spends its time on: one more run, with the clock around TRL's own two methods."""
    spent = {"_generate": 0.0, "_calculate_rewards": 0.0}

    def clocked(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            found = method(*args, **kwargs)
            spent[name] += time.perf_counter() - started
            return found

        return call

    with tempfile.TemporaryDirectory() as folder:
        trainer, config = loop.ours(Path(folder) / "shares")
        for name in spent:
            setattr(trainer, name, clocked(name, getattr(trainer, name)))
        started = time.perf_counter()
        train(trainer, config)
        total = time.perf_counter() - started
    generation, reward = (seconds / total for seconds in spent.values())
    return f"a step of GRPO: generation {generation:.0%}, rewards {reward:.0%}, update and the rest {1 - generation - reward:.0%}"


LOOPS = {"t5": t5_loop, "sft": sft_loop, "grpo": grpo_loop}


def measure(loop: Loop, rounds: int) -> tuple[float, float]:
    """Seconds a step of our loop and of the plain one."""
    ours, plain = [], []
    for number in range(rounds):
        for is_ours in (True, False) if number % 2 == 0 else (False, True):
            with tempfile.TemporaryDirectory() as folder:
                if is_ours:
                    trainer, config = loop.ours(Path(folder))
                    ours.append(timed(partial(train, config=config), trainer))
                else:
                    trainer = loop.plain(Path(folder))
                    trainer.add_callback(epoch_order())
                    plain.append(timed(lambda made: made.train(), trainer))
    first, second = (statistics.mean(map(min, zip(*times, strict=True))) for times in (ours, plain))
    return first, second


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=Path("data/store/corpus"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loops", nargs="+", choices=LOOPS, default=list(LOOPS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    set_quiet(True)
    rows = []
    notes = []
    for name in arguments.loops:
        steps = max(WARM_UP + 3, arguments.steps // 4 if name == "grpo" else arguments.steps)
        loop, tokens = LOOPS[name](arguments.corpus, steps)
        ours, plain = measure(loop, arguments.rounds)
        speeds = [f"{tokens / seconds:,.0f}" for seconds in (ours, plain)]
        if name == "grpo":
            notes.append(grpo_shares(loop))
        rows.append([name, steps, f"{1000 * ours:.0f}", *speeds, f"{plain / ours:.2f}"])
    set_quiet(False)
    table(["loop", "steps", "ms a step", "ours, tokens/s", "plain, tokens/s", "ratio"], rows, title="tokens without padding")
    for note in notes:
        say(note)


if __name__ == "__main__":
    main()
