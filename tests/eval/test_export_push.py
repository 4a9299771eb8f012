"""The push against a stand-in for the Hub: one commit, loaded again and compared; every failure says what is on the Hub."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from export_factory import TOOLS, causal_model, lora_run, plan, router_run, t5_run, trained_t5_run
from hub_server import HubServer, regular

from eval.export import grpo, router, t5
from eval.export.base import ExportConfig
from eval.export.hub import PushError, Repository
from eval.export.package import list_files
from eval.export.proof import difference, logits
from graph_handoff.artefacts import DownloadError, find_run
from graph_handoff.delegation import Delegation
from graph_handoff.errors import InputError
from graph_handoff.protocols.t5.protocol import T5

REPO = "acme/handoff-t5"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return t5_run(tmp_path_factory.mktemp("runs") / "tiny")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """The stand-in, and huggingface_hub told to talk to it: it reads its environment once, at import."""
    from huggingface_hub import constants

    with HubServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", server.token)
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.url + "/{repo_id}/resolve/{revision}/{filename}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr("transformers.utils.hub._hf_api", None)  # it would keep the address of the test before
        yield server


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were to be slept."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def push(trained: Path, tmp_path: Path, **changes: Any) -> int:
    values = {"run": trained, "out": tmp_path / "out", "push": REPO, **changes}
    return t5.run(ExportConfig.model_validate(values))


def revision_of(hub: HubServer) -> str:
    return hub.repos[REPO].head.oid


def test_a_push_is_one_private_commit_that_was_loaded_again(
    hub: HubServer, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert push(trained, tmp_path) == 0
    repo = hub.repos[REPO]
    assert repo.private
    assert len(repo.commits) == 2
    sent = {path: entry.content for path, entry in repo.head.files.items() if path != ".gitattributes"}
    out = tmp_path / "out"
    assert sent == {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert repo.head.files["model.safetensors"].lfs
    shown = capsys.readouterr().out
    assert f"{hub.url}/{REPO} at revision {repo.head.oid}" in shown
    assert "logits differ by at most 0" in shown
    assert f"/resolve/{repo.head.oid}/model.safetensors" in " ".join(path for _, path, _ in hub.log)


def test_large_files_go_in_parts(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    hub.part_size = 4000
    assert push(trained, tmp_path) == 0
    assert hub.requests("PUT", "/part/") > 1


def test_what_was_pushed_loads_with_transformers_alone_and_with_the_library(
    hub: HubServer, trained: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForSeq2SeqLM

    push(trained, tmp_path)
    revision = revision_of(hub)
    model = AutoModelForSeq2SeqLM.from_pretrained(REPO, revision=revision)
    delegation = Delegation("1", "Cancel the order.", TOOLS, plan(99).to_graph())
    here, there = T5(trained), T5(f"hf:{REPO}@{revision}")
    weights = here.autoencoder.model.state_dict()
    assert all(bool((weights[name] == tensor).all()) for name, tensor in model.state_dict().items())
    text = here.encode(delegation, seed=0)
    assert there.encode(delegation, seed=0) == text
    assert there.decode(text, TOOLS).graph.same_as(delegation.graph)


def test_a_router_loads_by_the_lines_of_its_card(hub: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {"run": router_run(tmp_path / "run", router.KIND), "out": tmp_path / "out", "push": REPO}
    assert router.run(ExportConfig.model_validate(values)) == 0
    capsys.readouterr()
    blocks = re.findall(r"```python\n(.*?)```", (tmp_path / "out" / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(block.replace("REVISION", revision_of(hub)), {})
    alone, whole = capsys.readouterr().out.splitlines()
    assert alone.startswith("tensor(") and whole.startswith("Decision(")


def test_only_safe_files_of_a_pinned_revision_are_downloaded(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    push(trained, tmp_path)
    repo = hub.repos[REPO]
    repo.add("more", {**repo.head.files, "training_args.bin": regular(b"x"), "code.py": regular(b"x")})
    folder = find_run(f"hf:{REPO}@{revision_of(hub)}")
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".json", ".safetensors", ".md"}
    for name in (f"hf:{REPO}", f"hf:{REPO}@main", "hf:tiny@" + "0" * 40):
        with pytest.raises(InputError, match="needs its revision"):
            find_run(name)
    with pytest.raises(DownloadError, match="cannot be downloaded"):
        find_run(f"hf:{REPO}@{'0' * 40}")
    repo.add("empty", {"config.json": regular(b"{}")})
    with pytest.raises(InputError, match="not an export"):
        find_run(f"hf:{REPO}@{revision_of(hub)}")


def test_a_dry_run_sends_nothing_and_writes_nothing(
    hub: HubServer, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert push(trained, tmp_path, dry_run=True) == 0
    assert hub.log == []
    assert not (tmp_path / "out").exists()
    shown = capsys.readouterr().out
    for part in ("model.safetensors", REPO, "private", "license: apache-2.0", "nothing was sent"):
        assert part in shown


def test_a_wrong_token_is_explained_and_never_shown(
    hub: HubServer, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrongwrongwrongwrongwrong")
    with pytest.raises(PushError, match="hf auth login") as error:
        push(trained, tmp_path)
    assert error.value.exit_code == 1
    assert not hub.repos
    captured = capfd.readouterr()
    assert "wrongwrong" not in f"{error.value}{captured.out}{captured.err}"


def test_no_token_at_all(hub: HubServer, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(PushError, match="not logged in"):
        push(trained, tmp_path)
    assert hub.log == []


def test_a_token_that_expires_half_way(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    hub.fail("POST", "/commit/", 401)
    with pytest.raises(PushError, match=r"hf auth login.*on the Hub now: commit .* with 0 files, 0 of the"):
        push(trained, tmp_path)


def test_a_repository_that_appears_in_between(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    hub.fail("POST", "/api/repos/create", 409)
    with pytest.raises(PushError, match="a repository of that name exists"):
        push(trained, tmp_path)


def test_someone_else_commits_meanwhile(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    hub.before_commit = lambda: hub.repos[REPO].add("theirs", {"theirs.txt": regular(b"1")})
    with pytest.raises(PushError, match=r"someone else committed.*on the Hub now: commit .* with 1 files, 0 of the"):
        push(trained, tmp_path)
    assert list(hub.repos[REPO].head.files) == ["theirs.txt"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/repos/create"), ("POST", "/preupload/"), ("PUT", "/lfs/"), ("POST", "/commit/"), ("GET", "/resolve/")],
)
def test_a_server_error_is_tried_again(
    method: str, path: str, hub: HubServer, waits: list[float], trained: Path, tmp_path: Path
) -> None:
    hub.fail(method, path, 500, times=2)
    assert push(trained, tmp_path) == 0
    assert len(hub.repos[REPO].commits) == 2
    assert waits


def test_a_commit_that_is_not_seen_at_once_is_waited_for(
    hub: HubServer, waits: list[float], trained: Path, tmp_path: Path
) -> None:
    hub.before_commit = lambda: hub.fail("GET", "/tree/", 404)
    assert push(trained, tmp_path) == 0
    assert waits.count(1.0) == 1  # other threads may sleep, too


def test_a_server_that_stays_broken_half_way(hub: HubServer, waits: list[float], trained: Path, tmp_path: Path) -> None:
    hub.fail("PUT", "/lfs/", 500, times=1000)
    with pytest.raises(PushError, match=r"could not send the files.*500.*on the Hub now: commit .* with 0 files, 0 of the"):
        push(trained, tmp_path)
    assert len(hub.repos[REPO].commits) == 1
    assert sum(waits) < 100
    assert hub.requests("PUT", "/lfs/") < 30


@pytest.mark.parametrize("path", ["/api/repos/create", "/commit/"])
def test_what_arrived_without_an_answer_counts(
    path: str, hub: HubServer, waits: list[float], trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.fail("POST", path, 500, late=True)
    assert push(trained, tmp_path) == 0
    assert len(hub.repos[REPO].commits) == 2
    assert f"at revision {revision_of(hub)}" in capsys.readouterr().out


@pytest.mark.parametrize("honest", [False, True], ids=["size as sent", "size as stored"])
def test_a_truncated_upload_is_found(honest: bool, hub: HubServer, waits: list[float], trained: Path, tmp_path: Path) -> None:
    hub.truncate(r"model\.safetensors", honest=honest)
    with pytest.raises(PushError, match=r"is not what was exported; do not use it.*model\.safetensors") as error:
        push(trained, tmp_path)
    assert revision_of(hub) in str(error.value)
    assert error.value.exit_code == 1


def test_other_logits_are_found(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    push(trained, tmp_path)
    files, expected = list_files(tmp_path / "out"), logits(t5.KIND, tmp_path / "out")
    repository = Repository(REPO)
    assert repository.verify(t5.KIND, expected + 5e-5, files, revision_of(hub)) == pytest.approx(5e-5, rel=0.1)
    with pytest.raises(PushError, match=r"logits are 0\.01 away"):
        repository.verify(t5.KIND, expected + 0.01, files, revision_of(hub))


def test_a_small_file_that_was_changed_is_found(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    hub.truncate(r"vocabulary\.json", honest=True)
    with pytest.raises(PushError, match=r"vocabulary\.json has \d+ bytes"):
        push(trained, tmp_path)


def test_what_is_there_is_not_overwritten_unasked(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    hub.create(REPO, {"model.safetensors": b"theirs", "notes.txt": b"theirs"})
    with pytest.raises(PushError, match=r"holds something else \(model.safetensors, notes.txt\); --overwrite"):
        push(trained, tmp_path)
    assert len(hub.repos[REPO].commits) == 2
    assert hub.requests("POST") == 0
    assert push(trained, tmp_path, overwrite=True) == 0
    files = hub.repos[REPO].head.files
    assert "notes.txt" not in files
    assert ".gitattributes" in files


def test_the_same_export_again_is_no_new_commit(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    push(trained, tmp_path)
    assert push(trained, tmp_path) == 0
    assert len(hub.repos[REPO].commits) == 2


def test_a_public_repository_is_not_written_to_by_accident(hub: HubServer, trained: Path, tmp_path: Path) -> None:
    hub.create(REPO, private=False)
    with pytest.raises(PushError, match="is public"):
        push(trained, tmp_path)
    assert push(trained, tmp_path, private=False) == 0


def test_an_adapter_goes_alone_and_finds_its_base_at_its_revision(hub: HubServer, tmp_path: Path) -> None:
    causal_model().save_pretrained(tmp_path / "base")
    base = hub.create("acme/base", {path.name: path.read_bytes() for path in (tmp_path / "base").iterdir()})
    pinned = base.head.oid
    run = lora_run(tmp_path / "run", "acme/base", pinned)
    changed = causal_model()
    changed.lm_head.weight.data.zero_()
    changed.save_pretrained(tmp_path / "changed")
    base.add("changed", {**base.head.files, "model.safetensors": regular((tmp_path / "changed/model.safetensors").read_bytes())})
    values = {"run": run, "out": tmp_path / "out", "push": "acme/writer", "license": "apache-2.0"}
    assert grpo.run(grpo.CONFIG.model_validate(values)) == 0
    sent = hub.repos["acme/writer"].head.files
    assert "adapter_model.safetensors" in sent and "model.safetensors" not in sent
    adapter = orjson.loads(sent["adapter_config.json"].content)
    assert (adapter["base_model_name_or_path"], adapter["revision"]) == ("acme/base", pinned)
    merged = tmp_path / "merged"
    assert grpo.run(grpo.CONFIG.model_validate({**values, "push": None, "out": merged, "merge": True})) == 0
    assert difference(logits(grpo.KIND, merged), logits(grpo.KIND, tmp_path / "out")) < 1e-5
    card = (merged / "README.md").read_text()
    assert f"base_model_revision: {pinned}" in card and "base_model_relation: finetune" in card


@pytest.mark.slow
def test_a_trained_run_goes_to_the_hub_and_back(hub: HubServer, tmp_path: Path) -> None:
    run = trained_t5_run(tmp_path / "trained")
    assert push(run, tmp_path) == 0
    here, there = T5(run), T5(f"hf:{REPO}@{revision_of(hub)}")
    for number in range(44, 50):
        delegation = Delegation(str(number), "Cancel it.", TOOLS, plan(number).to_graph())
        text = here.encode(delegation, seed=0)
        assert there.encode(delegation, seed=0) == text
        assert there.decode(text, TOOLS).graph.same_as(delegation.graph)


@pytest.mark.slow
def test_the_command_line_pushes_and_fails_with_its_exit_code(trained: Path, tmp_path: Path) -> None:
    with HubServer() as hub:
        environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_TOKEN": hub.token, "HF_HOME": str(tmp_path / "home")}
        environment |= {"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", "OMP_NUM_THREADS": "1"}
        words = [
            sys.executable,
            "-m",
            "graph_handoff.cli",
            "export",
            "t5",
            str(trained),
            "--out",
            str(tmp_path / "out"),
            "--push",
            REPO,
        ]
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"at revision {revision_of(hub)}" in done.stdout
        again = subprocess.run(
            words, cwd=ROOT, env={**environment, "HF_TOKEN": "hf_no"}, capture_output=True, text=True, check=False
        )
        assert again.returncode == 1
        assert again.stderr.startswith("handoff: ")
        assert "hf auth login" in again.stderr
        assert "hf_no" not in again.stdout + again.stderr
