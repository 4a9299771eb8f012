"""Rewards: an honest text is never beaten, a failure is no zero, real gold plans are said without an identifier of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_factory import Call, trajectory
from toy_corpus import SCHEMAS, plan, row, save

from data.environments import load_environment
from data.environments.base import EnvironmentCallError
from data.environments.gold import replay_gold
from data.labels.record import label_trajectory
from data.recordings import RECORDINGS_FILE
from graph_handoff.delegation import Delegation, Toolset
from graph_handoff.errors import CodecError, ConfigError, GraphError
from graph_handoff.files import write_jsonl
from graph_handoff.plan import Plan, Step
from graph_handoff.protocols.graph_writer.texts import read_written, source_of, target_of
from graph_handoff.reference import Reference
from training.graph_writer.rewards import PARTS, Case, Executes, Failed, Fidelity, Scored, brevity, fidelity_of, graph_f1, score

TOOLS = Toolset.from_schemas(SCHEMAS)


def toy_case(number: int) -> Case:
    gold = plan(number).to_graph()
    source = source_of(Delegation(str(number), "", TOOLS, gold))
    return Case(str(number), "shop", source, target_of(plan(number), source, TOOLS), gold, TOOLS)


def length(text: str) -> int:
    return len(text) // 3 + 1


def reward(text: str, case: Case, fidelity: Fidelity = graph_f1) -> float:
    found = score(text, length(text), length(case.target), case, fidelity)
    assert isinstance(found, Scored)
    assert set(found.parts) == set(PARTS)
    assert all(0 <= value <= 1 for value in found.parts.values())
    return found.reward


def tricks(case: Case) -> dict[str, str]:
    """What a model might write instead of the graph."""
    lines = case.target.split("\n")
    return {
        "nothing": "",
        "the prompt": case.source.text,
        "the first line over and over": "\n".join([lines[0]] * 40),
        "the first call over and over": "\n".join(f"{n}. {lines[0][3:]}" for n in range(1, 41)),
        "everything twice": "\n".join([case.target, *(f"{n + len(lines)}. {line[3:]}" for n, line in enumerate(lines, 1))]),
        "more at the end": f"{case.target}\n{len(lines) + 1}. get_order @1",
        "cut off": case.target[: len(case.target) * 2 // 3],
        "a line too few": "\n".join(lines[:-1]),
        "an invented identifier": case.target.replace("@2", "#W9999999"),
        "a placeholder of nothing": case.target.replace("@2", "@40"),
        "only a goal": "# cancel it",
    }


@pytest.mark.parametrize("name", list(tricks(toy_case(1))))
def test_no_trick_beats_the_honest_text(name: str) -> None:
    for number in range(6):
        case = toy_case(number)
        assert reward(tricks(case)[name], case) < reward(case.target, case)


EDIT = st.tuples(st.integers(0, 200), st.integers(0, 6), st.text("@$1234. \ncget_", max_size=6))


@given(st.integers(0, 8), st.lists(EDIT, max_size=4))
@settings(max_examples=150, deadline=None)
def test_no_edit_of_the_honest_text_beats_it(number: int, edits: list[tuple[int, int, str]]) -> None:
    case = toy_case(number)
    text = case.target
    for at, gone, new in edits:
        at %= len(text) + 1
        text = text[:at] + new + text[at + gone :]
    try:
        is_honest = read_written(text, case.source, TOOLS).plan == plan(number)
    except (CodecError, GraphError):
        is_honest = False
    assert is_honest or reward(text, case) < reward(case.target, case)


def test_brevity_is_small_and_bounded() -> None:
    assert [brevity(n, 50) for n in (0, 50, 100, 5000)] == [1.0, 0.95, 0.9, 0.9]


def test_a_repair_costs_half() -> None:
    case = toy_case(2)
    found = score(f"{case.target}\n5. canc", 20, 20, case, graph_f1)
    assert isinstance(found, Scored)
    assert found.repaired
    assert found.parts["valid"] == 0.5
    assert found.parts["fidelity"] == 1


@pytest.fixture(scope="module")
def real() -> list[Case]:
    """Gold plans of the real benchmark; the first changes the database, and one of them does not."""
    environment = load_environment("tau2-retail")
    tools = Toolset.from_schemas(environment.tools)
    cases = []
    for one in list(replay_gold("tau2-retail"))[:40]:
        gold = label_trajectory(one).to_delegation(tools).graph
        source = source_of(Delegation(one.id, "", tools, gold))
        cases.append(Case(one.id, "tau2-retail", source, target_of(Plan.from_graph(gold), source, tools), gold, tools))
    return cases


def test_every_real_plan_can_be_said_without_an_identifier_of_ones_own(real: list[Case]) -> None:
    for case in real:
        assert read_written(case.target, case.source, case.tools).plan == Plan.from_graph(case.gold)
        assert reward(case.target, case) == pytest.approx(brevity(length(case.target), length(case.target)))


def test_carried_out_in_the_real_environment_no_trick_passes(real: list[Case]) -> None:
    executes = Executes()
    environment = load_environment("tau2-retail")
    idle = [c for c in real if not any(environment.is_write(step.name) for step in Plan.from_graph(c.gold).steps)]
    assert idle, "a plan that writes nothing: an empty one leaves the same state"
    for case in [*real[:3], *idle[:2]]:
        honest = reward(case.target, case, executes)
        assert honest >= 0.9
        for name in ("nothing", "the prompt", "the first line over and over", "an invented identifier"):
            assert reward(tricks(case)[name], case, executes) == 0, name
        assert reward("# nothing to do", case, executes) == 0


def test_own_plans_are_executed_by_what_was_recorded(tmp_path: Path) -> None:
    tools = [{"name": "find"}, {"name": "cancel"}]
    corpus = save(tmp_path, {"train": [row("1", OWN.to_graph()), row("2", OWN.to_graph())]}, tools)
    recorded = trajectory(Call("find", {"email": "a@b.example"}, {"id": "W-1234"}), Call("cancel", {"id": "W-1234"}, "done"))
    write_jsonl(corpus / RECORDINGS_FILE, [recorded.model_copy(update={"id": "1"}).model_dump()])
    known, unknown = (Case(name, None, source_of(Delegation(name, "", TOOLS)), "", OWN.to_graph(), TOOLS) for name in ("1", "2"))
    with pytest.raises(ConfigError, match="1 plans have neither an environment nor a recording"):
        fidelity_of("execution", corpus, [known, unknown])
    executes = fidelity_of("execution", corpus, [known])
    assert executes(OWN, known) == 1
    assert executes(Plan((OWN.steps[0],)), known) == 0  # it never cancels
    assert executes(Plan((OWN.steps[0], Step("cancel", {"id": "W-9999"}))), known) == 0  # never recorded
    assert fidelity_of("graph_f1", corpus, [unknown]) is graph_f1


OWN = Plan((Step("find", {"email": "a@b.example"}), Step("cancel", {"id": Reference("t1", ("id",))})))


def test_a_broken_environment_is_a_failure_and_no_zero(real: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    executes = Executes()
    environment = executes.reaches(real[0]).environment

    def broken(*_: object) -> None:
        raise EnvironmentCallError("out of order")

    monkeypatch.setattr(environment, "call", broken)
    found = score(real[0].target, 10, 10, real[0], executes)
    assert found == Failed("environment_error", "out of order")
    late = score(real[0].target, 10, 10, real[0], Executes(seconds=-1))
    assert isinstance(late, Failed)
    assert late.kind == "time_out"
