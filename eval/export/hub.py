"""The way to the Hugging Face Hub and back: one commit, loaded again at its revision and compared.

The token is huggingface_hub's (`hf auth login`, or HF_TOKEN); nothing here prints it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from eval.export.base import ExportKind
from eval.export.package import FileInfo, list_files
from eval.export.proof import TOLERANCE, check_onnx, difference, logits
from graph_handoff.console import say
from graph_handoff.errors import HandoffError, InputError

if TYPE_CHECKING:
    import torch

T = TypeVar("T")

WAITS = (1.0, 4.0)
"""Seconds before the second and the third try. Within a try huggingface_hub repeats most single requests by itself."""
HUB_OWN = ".gitattributes"
"""What the Hub writes into a repository by itself."""
DOWNLOAD_OWN = ".cache"
"""What huggingface_hub writes into a download by itself."""
UNAUTHORISED, FORBIDDEN, NOT_FOUND, SERVER_ERROR, CONFLICTS = 401, 403, 404, 500, (409, 412)
MAX_WORDS = 300  # characters of an error of the Hub that ours repeats
LOG_IN = "log in with `hf auth login`, or set HF_TOKEN to a token that may write"


class PushError(HandoffError):
    """The model is not on the Hub as it was exported; the message says what is there."""


class Pushed(NamedTuple):
    """A push that was loaded again and compared."""

    url: str
    revision: str
    difference: float
    """The largest absolute difference of two logits."""


def push(kind: ExportKind, folder: Path, expected: torch.Tensor, hub: Repository, *, private: bool, overwrite: bool) -> Pushed:
    """Send an export as one commit, load it again from there, compare its logits with `expected`; only then it counts.

    Raises PushError.
    """
    files = list_files(folder)
    parent = hub.open(private, files, overwrite)
    revision = hub.commit(folder, files, parent)
    say(f"sent as {revision}; loading it again")
    return Pushed(hub.url, revision, hub.verify(kind, expected, files, revision))


class Repository:
    """One model repository on the Hub."""

    def __init__(self, repo: str) -> None:
        from huggingface_hub import HfApi, get_token
        from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]  # it is documented

        token = get_token()
        if token is None:
            raise PushError(f"{repo}: not logged in; {LOG_IN}")
        disable_progress_bars()
        self.repo = repo
        self.api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token, library_name="graph-handoff")

    @property
    def url(self) -> str:
        return f"{self.api.endpoint}/{self.repo}"

    def open(self, private: bool, files: Sequence[FileInfo], overwrite: bool) -> str:
        """Make sure that the repository is there and may be written to; returns the commit it is at."""
        info = self._info()
        if info is None:
            self._try(
                "create the repository",
                lambda: str(self.api.create_repo(self.repo, private=private)),
                landed=lambda: str(self.api.model_info(self.repo).id),
            )
            info = self._info()
        if info is None:
            raise PushError(f"{self.repo}: the Hub created the repository and does not show it")
        if private and not info.private:
            raise PushError(f"{self.repo}: exists and is public; say --private false if the model may be public")
        exported = {file.path: file for file in files}
        others = [path for path, there in self._files(info.sha).items() if not _same(there, exported.get(path))]
        if others and not overwrite:
            shown = ", ".join(sorted(others)[:5]) + (", …" if len(others) > 5 else "")
            raise PushError(f"{self.repo}: exists and holds something else ({shown}); --overwrite replaces it")
        return str(info.sha)

    def _info(self) -> Any:
        """The repository's state; None where there is none that this token may see."""
        from huggingface_hub.errors import RepositoryNotFoundError

        def ask() -> Any:
            try:
                return self.api.model_info(self.repo)
            except RepositoryNotFoundError as error:
                # the Hub answers 401 for what is not there, too: `whoami` tells whether it knows the token
                if _status(error) == UNAUTHORISED:
                    self.api.whoami()
                return None

        return self._try("look at the repository", ask)

    def _files(self, revision: str) -> dict[str, Any]:
        def ask() -> dict[str, Any]:
            return _by_path(self.api.list_repo_tree(self.repo, recursive=True, revision=revision))

        return self._try("list the repository", ask)

    def commit(self, folder: Path, files: Sequence[FileInfo], parent: str) -> str:
        """Everything as one commit on `parent`; returns it. Files that are not in the export go.

        Not `upload_folder`: with hf_xet that may write several commits, and a reader could load half of a model.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        gone = sorted(set(self._files(parent)) - {file.path for file in files})

        def send() -> str:
            operations: list[Any] = [CommitOperationDelete(path) for path in gone]
            operations += [CommitOperationAdd(file.path, folder / file.path) for file in files]
            message = f"Export by handoff: {len(files)} files"
            info = self.api.create_commit(self.repo, operations, commit_message=message, parent_commit=parent)
            return str(info.oid)

        return self._try("send the files", send, landed=lambda: self._landed(files, parent), files=files)

    def _landed(self, files: Sequence[FileInfo], parent: str) -> str | None:
        """A commit may arrive although its answer did not: the new head, where it holds exactly what was exported."""
        head = str(self.api.model_info(self.repo).sha)
        if head == parent:
            return None
        there = _by_path(self.api.list_repo_tree(self.repo, recursive=True, revision=head))
        whole = len(there) == len(files) and all(_same(there.get(file.path), file) for file in files)
        return head if whole else None

    def verify(self, kind: ExportKind, expected: torch.Tensor, files: Sequence[FileInfo], revision: str) -> float:
        """Download the revision into a fresh folder, compare every file's hash and the logits; returns their difference."""
        with tempfile.TemporaryDirectory(prefix="handoff-verify-") as name:
            fresh = Path(name)
            doing = f"load {revision} again (it was sent, and is not verified)"
            self._try(doing, lambda: self._download(revision, fresh), lag=True)
            there = {file.path: file for file in list_files(fresh) if not file.path.startswith((f"{DOWNLOAD_OWN}/", HUB_OWN))}
            wrong = [_wrong(file, there.get(file.path)) for file in files if there.get(file.path) != file]
            wrong += [f"{path} was not exported" for path in there if path not in {file.path for file in files}]
            if wrong:
                raise self._unlike(revision, "; ".join(wrong))
            try:
                loaded = logits(kind, fresh)
                check_onnx(kind, fresh, loaded)
            except InputError as error:
                raise self._unlike(revision, str(error)) from error
        found = difference(expected, loaded)
        if not found <= TOLERANCE:
            raise self._unlike(revision, f"logits are {found:.2g} away, more than {TOLERANCE:g}")
        return found

    def _download(self, revision: str, fresh: Path) -> None:
        try:
            self.api.snapshot_download(self.repo, revision=revision, local_dir=fresh, force_download=True)
        except OSError as error:
            if _is_http(error):
                raise
            # huggingface_hub compares sizes while it downloads
            raise self._unlike(revision, f"it cannot be downloaded whole: {self._words(error)}") from error

    def _unlike(self, revision: str, what: str) -> PushError:
        return PushError(f"{self.repo}: revision {revision} is on the Hub and is not what was exported; do not use it: {what}")

    def _try(
        self,
        doing: str,
        action: Callable[[], T],
        landed: Callable[[], T | None] | None = None,
        files: Sequence[FileInfo] = (),
        lag: bool = False,
    ) -> T:
        """`action`, again after a server's error, and with `lag` after a 404: a new commit may not be seen everywhere at once.

        `landed` looks whether a failed one arrived after all. Raises PushError.
        """
        for wait in (*WAITS, None):
            try:
                return action()
            except PushError:
                raise
            except Exception as error:  # HTTP, connection, offline mode, and RuntimeError around a failed upload
                arrived = _or_none(landed) if landed is not None else None
                if arrived is not None:
                    return arrived
                status = _status(error)
                passing = status is None or status >= SERVER_ERROR or (lag and status == NOT_FOUND)
                if wait is None or not passing or not _is_http(error):
                    raise PushError(self._explain(doing, error, status, files)) from error
                time.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _explain(self, doing: str, error: BaseException, status: int | None, files: Sequence[FileInfo]) -> str:
        if status == UNAUTHORISED:
            why = f"the Hub does not accept the token: {LOG_IN}"
        elif status == FORBIDDEN:
            why = f"the token may not write there: {LOG_IN}"
        elif status in CONFLICTS and files:
            why = "someone else committed to the repository meanwhile; look at it, then run the command again"
        elif status in CONFLICTS:
            why = "a repository of that name exists, and this token may not see it; choose another name"
        else:
            why = self._words(error)
        there = f"; {self._on_the_hub(files)}" if files else ""
        return f"{self.repo}: could not {doing}: {why}{there}"

    def _on_the_hub(self, files: Sequence[FileInfo]) -> str:
        """What a failed push has left there."""
        unknown = "what is on the Hub now could not be asked"
        found = _or_none(lambda: self.api.model_info(self.repo))
        if found is None or found.sha is None:
            return unknown
        commit = found.sha
        there = _or_none(lambda: _by_path(self.api.list_repo_tree(self.repo, recursive=True, revision=commit)))
        if there is None:
            return unknown
        same = sum(_same(there.get(file.path), file) for file in files)
        return f"on the Hub now: commit {commit} with {len(there)} files, {same} of the {len(files)} exported ones among them"

    def _words(self, error: BaseException) -> str:
        """The innermost error in one line, without the token, should it hold it."""
        while error.__cause__ is not None:
            error = error.__cause__
        text = " ".join(str(error).split()) or type(error).__name__
        return text.replace(str(self.api.token), "***")[:MAX_WORDS]


def _by_path(tree: Any) -> dict[str, Any]:
    return {item.path: item for item in tree if hasattr(item, "blob_id") and item.path != HUB_OWN}


def _same(there: Any, file: FileInfo | None) -> bool:
    """Whether the Hub's entry is that file: a large one has a SHA-256, a small one a git blob's name."""
    if there is None or file is None:
        return False
    if there.lfs is not None:
        return bool(there.lfs.sha256 == file.sha256)
    return bool(there.blob_id == file.git_oid)


def _wrong(file: FileInfo, there: FileInfo | None) -> str:
    if there is None:
        return f"{file.path} is missing"
    had = f"{file.size} with {file.sha256[:12]}…"
    return f"{file.path} has {there.size} bytes with SHA-256 {there.sha256[:12]}…, exported were {had}"


def _status(error: BaseException | None) -> int | None:
    """The HTTP status behind an error, through what huggingface_hub wraps around it."""
    while error is not None:
        response = getattr(error, "response", None)
        if response is not None:
            return int(response.status_code)
        error = error.__cause__
    return None


def _is_http(error: BaseException | None) -> bool:
    """Whether an error came from the connection or the server: these are tried again."""
    from huggingface_hub.errors import HTTPError, OfflineModeIsEnabled  # type: ignore[attr-defined]  # of its HTTP library

    while error is not None:
        if isinstance(error, HTTPError) and not isinstance(error, OfflineModeIsEnabled):
            return True
        error = error.__cause__
    return False


def _or_none(action: Callable[[], T]) -> T | None:
    try:
        return action()
    except Exception:  # asked after a failure, where the Hub may not answer at all
        return None
