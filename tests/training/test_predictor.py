"""Training of the predictor: the training split alone, the same library each time, figures that mean what they say."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from toy_corpus import row, save

from graph_handoff.delegation import Tool, Toolset
from graph_handoff.plan import Plan, Step
from graph_handoff.protocols.delta.plan_library import PlanLibrary
from graph_handoff.reference import parse_reference as ref
from training.delta.train import PredictorConfig, run

TOOLS = [
    {"name": "get_user", "parameters": {"properties": {"user_id": {"type": "string"}}}},
    {"name": "cancel", "parameters": {"properties": {"order_id": {"type": "string"}, "reason": {"type": "string"}}}},
]
TOOLSET = Toolset([Tool(t["name"], "", t["parameters"]) for t in TOOLS])  # type: ignore[arg-type]


def plan(user: str, reason: str) -> Plan:
    return Plan((Step("get_user", {"user_id": user}), Step("cancel", {"order_id": ref("t1.orders[0]"), "reason": reason})))


@pytest.fixture
def config(tmp_path: Path) -> PredictorConfig:
    train = [row(f"{n}", plan(f"mei_{n}", "late").to_graph()) for n in range(6)]
    held_out = [plan("secret_7", "late"), Plan((Step("cancel", {"order_id": "#W1", "reason": "lost"}),))]
    test = [row(f"{n}", one.to_graph()) for n, one in enumerate(held_out, 90)]
    corpus = save(tmp_path / "corpus", {"train": train, "validation": train[:1], "test": test}, TOOLS)
    return PredictorConfig(run=tmp_path / "run", corpus=corpus)


def test_the_library_comes_from_the_training_split_alone(config: PredictorConfig) -> None:
    assert run(config) == 0
    text = (config.run / "model" / "library.json").read_text()
    assert "late" in text and "mei_" not in text  # what has a digit is a value
    assert "secret_7" not in text and "lost" not in text
    library = PlanLibrary.load(config.run / "model")
    assert [(p.name, p.seen) for p in library.plans] == [("cancel", 6), ("nothing", 0)]
    assert (config.run / "COMPLETE").exists()


def test_held_out_figures(config: PredictorConfig) -> None:
    run(config)
    found = orjson.loads((config.run / "metrics.json").read_bytes())
    assert found["held_out_plans"] == 2 and found["training_plans"] == 6
    assert found["steps_predicted"] == pytest.approx(2 / 3)  # the first plan's two; the other's only one differs
    assert found["steps_known"] == pytest.approx(2 / 3)
    assert found["tokens_a_message"] == found["tokens_a_message_shop"] > 0


def test_the_same_data_give_the_same_library_and_fewer_plans_another(config: PredictorConfig, tmp_path: Path) -> None:
    def hash_of(**changes: object) -> str:
        made = config.model_copy(update=changes)
        run(made)
        return PlanLibrary.load(made.run / "model").hash

    first = hash_of()
    assert hash_of(run=tmp_path / "again") == first
    assert hash_of(run=tmp_path / "few", train_plans=3) != first
