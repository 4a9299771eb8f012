"""The Oracle, and the routers' rates against it, on trials that can be counted by hand."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from trial_factory import suite

from eval.oracle import best_of
from eval.report.routing import oracles, routing
from eval.report.words import ORACLE, ORACLE_ALL
from eval.trial import Route, Tokens, Trial
from training.statistics import Unit

Format = Literal["graph", "nl"]
FORMATS = ("nl", "compact")
INFO = suite(protocols=["nl", "compact", "routed", "asked"], oracle=FORMATS, family=[], models={})


def trial(protocol: str, task: str, reward: float, size: int, format: Format | None = None, **changes: Any) -> Trial:
    """`format`: what the router chose; None for a protocol that does not route."""
    values: dict[str, Any] = {
        "benchmark": "toy",
        "task_id": task,
        "protocol": protocol,
        "seed": 0,
        "executor": "scripted",
        "task": "",
        "plan_text": "",
        "handoff": "text",
        "tokens": Tokens(wire=size, read=size, instructions=0),
        "reward": reward,
        "route": format and Route(router=f"{protocol}-router", format=format, score=0.5, reason=""),
    }
    return Trial(**values | changes)


def by_unit(*trials: Trial) -> dict[Unit, Trial]:
    return {(trial.task_id, trial.seed): trial for trial in trials}


METRICS: dict[str, dict[str, Any]] = {"nl": {}, "compact": {"graph_metrics": {"validity": 1.0}}}
PATTERN = {"a": "aggregate", "b": "aggregate", "c": "simple", "d": "simple"}
REWARDS = {"nl": (0, 1, 1, 0), "compact": (1, 1, 0, 0)}
TOKENS = {"nl": (50, 50, 50, 50), "compact": (40, 60, 40, 40)}
CHOSEN: dict[str, tuple[Format, ...]] = {"routed": ("graph", "graph", "nl", "nl"), "asked": ("nl", "nl", "graph", "nl")}
"""The Oracle takes the graph on a (reward) and d (tokens), prose on b (tokens) and c (reward)."""


def groups() -> dict[str, dict[Unit, Trial]]:
    made = {}
    for name in FORMATS:
        made[name] = by_unit(
            *(
                trial(name, t, REWARDS[name][n], TOKENS[name][n], pattern=PATTERN[t], **METRICS[name])
                for n, t in enumerate("abcd")
            )
        )
    for name, formats in CHOSEN.items():
        trials = []
        for number, (task, format) in enumerate(zip("abcd", formats, strict=True)):
            reward = REWARDS["compact" if format == "graph" else "nl"][number]
            paid = Tokens(wire=50, read=50, instructions=0, overhead=number)
            trials.append(trial(name, task, reward, 50, format, pattern=PATTERN[task], tokens=paid))
        made[name] = by_unit(*trials)
    return made


def test_the_oracle_is_the_best_reward_then_the_fewest_tokens() -> None:
    best = best_of({name: groups()[name] for name in FORMATS})
    assert {task: chosen.protocol for (task, _), chosen in best.items()} == {"a": "compact", "b": "nl", "c": "nl", "d": "compact"}


def test_of_equal_formats_the_one_named_first_is_taken() -> None:
    one, other = by_unit(trial("nl", "a", 1, 50)), by_unit(trial("compact", "a", 1, 50))
    assert best_of({"nl": one, "compact": other})["a", 0].protocol == "nl"
    assert best_of({"compact": other, "nl": one})["a", 0].protocol == "compact"


def test_tokens_are_those_of_the_whole_delegation() -> None:
    paid = Tokens(wire=10, read=10, instructions=60)
    best = best_of({"nl": by_unit(trial("nl", "a", 1, 50)), "ngh": by_unit(trial("ngh", "a", 1, 10, tokens=paid))})
    assert best["a", 0].protocol == "nl"


def test_a_handoff_that_was_never_written_is_not_the_shortest() -> None:
    broken = by_unit(trial("compact", "a", 0, 0, failure="protocol_error"))
    assert best_of({"compact": broken, "nl": by_unit(trial("nl", "a", 0, 50))})["a", 0].protocol == "nl"


def test_each_seed_has_its_own_best_and_only_shared_units_count() -> None:
    prose = by_unit(trial("nl", "a", 1, 50), trial("nl", "a", 0, 50, seed=1), trial("nl", "b", 1, 50))
    graph = by_unit(trial("compact", "a", 0, 40), trial("compact", "a", 1, 40, seed=1), trial("compact", "c", 1, 40))
    best = best_of({"nl": prose, "compact": graph})
    assert {unit: chosen.protocol for unit, chosen in best.items()} == {("a", 0): "nl", ("a", 1): "compact"}
    assert best_of({}) == {}


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 99)] * 2), min_size=1, max_size=8))
def test_no_router_earns_more_than_the_oracle(outcomes: list[tuple[float, int, float, int]]) -> None:
    prose = by_unit(*(trial("nl", str(n), o[0], o[1]) for n, o in enumerate(outcomes)))
    graph = by_unit(*(trial("compact", str(n), o[2], o[3]) for n, o in enumerate(outcomes)))
    best = best_of({"nl": prose, "compact": graph})
    assert best.keys() == prose.keys()
    for unit, chosen in best.items():
        for other in (prose[unit], graph[unit]):
            assert (chosen.reward, -chosen.tokens.total) >= (other.reward, -other.tokens.total)


def test_the_oracle_over_all_formats_leaves_routed_protocols_out() -> None:
    made = groups()
    assert set(oracles(INFO, made)) == {ORACLE}  # every format that is not routed is a declared one
    made["ngh"] = by_unit(*(trial("ngh", task, 1, 99) for task in "abcd"))
    found = oracles(INFO, made)
    assert {chosen.protocol for chosen in found[ORACLE].values()} == {"nl", "compact"}
    assert found[ORACLE_ALL]["d", 0].protocol == "ngh"
    assert oracles(INFO.model_copy(update={"oracle": ()}), made) == {}


def test_a_routers_rates_against_the_oracle() -> None:
    made = groups()
    summary = routing(INFO, made, oracles(INFO, made)[ORACLE])
    assert summary is not None
    rules, asked = summary.routers
    assert (rules.protocol, rules.routers, rules.trials, rules.compared) == ("routed", ("routed-router",), 4, 4)
    assert rules.graph == 2 / 4
    assert (rules.precision, rules.recall, rules.agrees) == (1 / 2, 1 / 2, 2 / 4)  # right on a and c
    assert rules.overhead == (0 + 1 + 2 + 3) / 4
    assert rules.worse == 0  # on b the graph only costs more, on d nothing succeeds
    assert (asked.graph, asked.precision, asked.recall, asked.agrees) == (1 / 4, 0.0, 0.0, 1 / 4)  # right on b alone
    assert asked.worse == 2
    assert summary.oracle_graph == 2 / 4
    (agreement,) = summary.agreements
    assert (agreement.share, agreement.trials) == (1 / 4, 4)  # alike on d alone


def test_a_format_is_a_graph_by_its_trials_whatever_it_is_called() -> None:
    def named(name: str) -> str:
        return {"nl": "my-prose", "compact": "nl"}.get(name, name)

    renamed = {
        named(name): {unit: one.model_copy(update={"protocol": named(name)}) for unit, one in trials.items()}
        for name, trials in groups().items()
    }
    info = INFO.model_copy(update={"oracle": ("my-prose", "nl"), "protocols": tuple(renamed)})
    plain, other = (routing(i, made, oracles(i, made)[ORACLE]) for i, made in ((INFO, groups()), (info, renamed)))
    assert plain is not None and other is not None
    assert (other.routers, other.oracle_graph) == (plain.routers, plain.oracle_graph)


def test_rates_by_pattern() -> None:
    made = groups()
    summary = routing(INFO, made, oracles(INFO, made)[ORACLE])
    assert summary is not None
    aggregate, simple = summary.patterns
    assert (aggregate.pattern, aggregate.tasks, simple.pattern, simple.tasks) == ("aggregate", 2, "simple", 2)
    assert aggregate.graph == {"routed": 1.0, "asked": 0.0}
    assert aggregate.rewards == {"nl": 0.5, "compact": 1.0, "routed": 1.0, "asked": 0.5, ORACLE: 1.0}
    assert simple.rewards == {"nl": 0.5, "compact": 0.0, "routed": 0.5, "asked": 0.0, ORACLE: 0.5}


def test_a_rate_without_anything_to_count_is_none() -> None:
    made = groups()
    made["routed"] = by_unit(*(trial("routed", task, 1, 50, "nl") for task in "abcd"))
    summary = routing(INFO, made, {})
    assert summary is not None
    rules = summary.routers[0]
    assert (rules.graph, rules.precision, rules.recall, rules.agrees) == (0.0, None, None, None)
    assert (rules.worse, rules.compared, summary.oracle_graph) == (0, 0, None)


def test_a_delegation_that_could_not_be_decided_is_not_counted_as_a_decision() -> None:
    made = groups()
    made["routed"]["a", 0] = trial("routed", "a", 0, 0, failure="protocol_error", pattern="aggregate")
    summary = routing(INFO, made, oracles(INFO, made)[ORACLE])
    assert summary is not None
    assert (summary.routers[0].trials, summary.routers[0].compared) == (3, 3)
    assert summary.agreements[0].trials == 3


def test_without_a_routed_protocol_there_is_no_routing_section() -> None:
    made = {format: groups()[format] for format in FORMATS}
    assert routing(INFO, made, oracles(INFO, made)[ORACLE]) is None
