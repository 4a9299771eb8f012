"""The wheel by itself: built, installed into a bare environment with its base requirements, used in an empty folder."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "LICENSE", "graph_handoff")
NO_NETWORK = ("NewConnectionError", "ConnectTimeoutError", "failure in name resolution", "No matching distribution found")
PRELUDE = """
order = {"items": [{"name": "Desk Lamp", "item_id": "7"}]}
my_tools = {"get_order": lambda order_id: order, "return_items": lambda item_ids: item_ids}
my_openai_tool_schemas = [
    {"name": "get_order", "parameters": {"properties": {"order_id": {"type": "string"}}}},
    {"name": "return_items", "parameters": {"properties": {"item_ids": {"type": "array"}}}},
]
"""
"""What the README's example takes as given: an agent's own tools."""

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd)}  # no PYTHONPATH: the checkout is not to be found
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, check=False, env=environment)


def pip(*words: str | Path) -> None:
    """Skips where there is no network."""
    done = subprocess.run([sys.executable, "-m", "pip", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode and any(sign in done.stdout + done.stderr for sign in NO_NETWORK):
        pytest.skip(f"no network to install the base requirements from: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that neither an old build folder nor the checkout is touched."""
    folder = tmp_path_factory.mktemp("build")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    pip("wheel", "--no-deps", "--no-build-isolation", "-w", folder / "dist", folder)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a bare environment with the wheel and its base requirements."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip("--python", python, "install", "--quiet", "-c", ROOT / "constraints.txt", wheel)
    return python


def test_the_wheel_holds_the_library_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    tops = {name.split("/")[0] for name in names}
    assert tops == {"graph_handoff", "graph_handoff-0.2.0.dist-info"}
    files = {path for path in (ROOT / "graph_handoff").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path.relative_to(ROOT).as_posix() for path in files} - {"graph_handoff/README.md"} <= set(names)
    told = message_from_string(metadata)
    assert (told["Name"], told["License-Expression"]) == ("graph-handoff", "Apache-2.0")
    assert {"router", "models", "train", "eval", "dev"} == set(told.get_all("Provides-Extra") or ())
    assert all(told[field] for field in ("Author", "Keywords", "Classifier", "Summary"))
    assert told["Description-Content-Type"] == "text/markdown"
    page = re.sub(r"^```.*?^```", "", str(told.get_payload()), flags=re.DOTALL | re.MULTILINE)
    assert "pip install 'graph-handoff[router]'" in page
    assert not re.findall(r"!\[|\]\((?!http)", page), "an index shows no picture and follows no link of the checkout"


def test_the_command_offers_what_there_is(python: Path, tmp_path: Path) -> None:
    script = python.parent / "handoff"
    shown = run(script, "--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert "library alone" in shown.stdout
    assert "train t5" not in shown.stdout
    version = run(python, "-m", "graph_handoff", "--version", cwd=tmp_path)
    assert (version.returncode, version.stdout.strip()) == (0, "0.2.0")
    for words in (["train", "t5"], ["label", "--help"], ["report", "x"]):
        stage = run(script, *words, cwd=tmp_path)
        assert stage.returncode == 3
        assert "runs from a checkout" in stage.stderr
        assert stage.stderr.count("\n") == 1


@pytest.mark.parametrize("page", ["README.md", "graph_handoff/README.md"])
def test_the_example_runs(page: str, python: Path, tmp_path: Path) -> None:
    code = re.search(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert code is not None
    script = tmp_path / "example.py"
    script.write_text(f"{PRELUDE}\n{code[1]}\nprint([step.status for step in done.steps])\n")
    done = run(python, script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['ok', 'ok']"


def exported(folder: Path, stage: str) -> Path:
    """A folder that passes for an export, as far as an installation without the packages can look."""
    folder.mkdir()
    (folder / "handoff.json").write_text(json.dumps({"stage": stage}))
    (folder / "router.json").write_text(json.dumps({"threshold": 0.5, "temperature": 1.0}))
    writer = {"reads": "prose", "max_new_tokens": 8}
    (folder / "writer.json").write_text(json.dumps(writer))
    return folder


@pytest.mark.parametrize(
    ("stage", "call", "needs"),
    [
        ("train router", "load_router(RUN)", "onnxruntime.*graph-handoff\\[router\\]"),
        ("train t5", "load_protocol('t5', run=RUN)", "torch.*graph-handoff\\[models\\]"),
        ("train grpo", "load_protocol('rl', run=RUN)", "torch.*graph-handoff\\[models\\]"),
        ("train lingua", "load_protocol('lingua', run=RUN)", "graph-handoff\\[models\\]"),
        ("train t5", f"load_protocol('t5', run='hf:a/b@{40 * 'a'}')", "huggingface_hub.*graph-handoff\\[models\\]"),
        ("train router", f"load_router('hf:a/b@{40 * 'a'}')", "huggingface_hub.*graph-handoff\\[router\\]"),
    ],
)
def test_a_missing_extra_is_named(stage: str, call: str, needs: str, python: Path, tmp_path: Path) -> None:
    code = f"""
from graph_handoff import load_protocol, load_router
from graph_handoff.errors import MissingDependencyError
RUN = {str(exported(tmp_path / "run", stage))!r}
try:
    {call}
except MissingDependencyError as error:
    print(error)
"""
    told = run(python, "-c", code, cwd=tmp_path)
    assert re.search(needs, told.stdout), told.stdout + told.stderr
