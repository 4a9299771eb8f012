"""A stand-in for the Hugging Face Hub: what a push and a download use of its HTTP API, in memory, with failures on order.

    with HubServer() as hub:                          # hub.url is the endpoint, hub.token the only token it accepts
        hub.fail("POST", "/commit/", 500, times=1)    # the next commit is answered by 500
        hub.truncate(r"model\\.safetensors")           # what is stored of this upload is half of it

Spoken: whoami, validate-yaml, creation of a repository, preupload, LFS batch with uploads in one or many parts and
verification, commit (files, LFS files, deletions, parent commit), model info, tree, paths-info, refs, commits, resolve.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LFS_SUFFIXES = (".safetensors", ".bin", ".onnx", ".pt", ".parquet", ".gguf")
LFS_OVER = 1 << 20
TREE_PAGE = 1000
DATE = "2026-01-01T00:00:00.000Z"
ATTRIBUTES = "\n".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text" for suffix in LFS_SUFFIXES).encode()


def git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass(frozen=True)
class Entry:
    """A file of a commit. An LFS file has the SHA-256 and size that its uploader named."""

    content: bytes
    sha256: str
    size: int
    lfs: bool

    @property
    def oid(self) -> str:
        return git_oid(self.pointer if self.lfs else self.content)

    @property
    def pointer(self) -> bytes:
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {self.size}\n".encode()

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.oid

    def described(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "file", "path": path, "size": self.size, "oid": self.oid}
        if self.lfs:
            found["lfs"] = {"oid": self.sha256, "size": self.size, "pointerSize": len(self.pointer)}
        return found


def regular(content: bytes) -> Entry:
    return Entry(content, hashlib.sha256(content).hexdigest(), len(content), lfs=False)


@dataclass(frozen=True)
class Commit:
    oid: str
    title: str
    files: dict[str, Entry]


@dataclass
class Repo:
    private: bool
    commits: list[Commit]

    @property
    def head(self) -> Commit:
        return self.commits[-1]

    def at(self, revision: str) -> Commit | None:
        if revision == "main":
            return self.head
        return next((commit for commit in self.commits if commit.oid == revision), None)

    def add(self, title: str, files: dict[str, Entry]) -> Commit:
        parent = self.commits[-1].oid if self.commits else ""
        names = json.dumps({path: entry.oid for path, entry in files.items()}, sort_keys=True)
        commit = Commit(hashlib.sha1(f"{parent}{title}{names}{len(self.commits)}".encode()).hexdigest(), title, files)
        self.commits.append(commit)
        return commit


@dataclass
class Failure:
    """Answer the next `times` requests of that kind with `status`; with `late`, only after doing what they ask."""

    method: str
    path: str
    status: int
    times: int
    late: bool


@dataclass
class HubServer:
    """The server, its repositories and what it was asked."""

    token: str = "hf_test"
    repos: dict[str, Repo] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    log: list[tuple[str, str, int]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    before_commit: Callable[[], None] | None = None
    """Runs once before the next commit is looked at: someone else at work."""
    part_size: int | None = None
    """Ask for LFS uploads in parts of so many bytes."""
    _cut: str | None = None
    _honest: bool = False
    _parts: dict[str, dict[int, bytes]] = field(default_factory=dict)

    def __enter__(self) -> HubServer:
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.lock = threading.RLock()
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fail(self, method: str, path: str, status: int, times: int = 1, *, late: bool = False) -> None:
        self.failures.append(Failure(method, path, status, times, late))

    def truncate(self, path: str, *, honest: bool = False) -> None:
        """Store half of the files whose path matches. `honest` tells their real size, as if the uploader had sent that."""
        self._cut, self._honest = path, honest

    def create(self, repo: str, files: dict[str, bytes] | None = None, *, private: bool = True) -> Repo:
        """A repository that was there before."""
        made = self.repos[repo] = Repo(private, [])
        made.add("initial commit", {".gitattributes": regular(ATTRIBUTES)})
        if files is not None:
            made.add("files", {**made.head.files, **{path: regular(content) for path, content in files.items()}})
        return made

    def requests(self, method: str, path: str = "") -> int:
        return sum(m == method and path in p for m, p, _ in self.log)

    def stored(self, path: str, entry: Entry) -> Entry:
        """What is kept of a file: half of it where it was told to."""
        if self._cut is None or not re.search(self._cut, path):
            return entry
        half = entry.content[: len(entry.content) // 2]
        return Entry(half, entry.sha256, len(half) if self._honest else entry.size, entry.lfs)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes: else each answer waits 40 ms for the client
    hub: HubServer

    def log_message(self, *args: object) -> None:
        return

    # --- answering

    def reply(
        self, status: int, body: bytes = b"", headers: dict[str, str] | None = None, kind: str = "application/json"
    ) -> None:
        if self._late is not None:
            status, body, headers, kind = self._late, b'{"error": "Internal Server Error"}', {}, "application/json"
        self.hub.log.append((self.command, self.path, status))
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        self.reply(status, json.dumps(value).encode(), named)

    def error(self, status: int, code: str, message: str) -> None:
        self.json({"error": message}, status, X_Error_Code=code, X_Error_Message=message)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        content = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return content

    @property
    def may_write(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {self.hub.token}"

    # --- asking

    def handle_request(self) -> None:
        self._late: int | None = None
        raw = self.body()
        target = urlsplit(self.path)
        path = unquote(target.path)
        with self.hub.lock:
            failure = next((f for f in self.hub.failures if f.times and f.method == self.command and f.path in path), None)
            if failure is not None:
                failure.times -= 1
                if not failure.late:
                    return self.error(failure.status, "Injected", f"injected {failure.status}")
                self._late = failure.status
            for pattern, method in ROUTES:
                found = re.fullmatch(pattern, path)
                if found is not None:
                    groups = [part if part is not None else "" for part in found.groups()]
                    getattr(self, method)(*groups, raw=raw, query=parse_qs(target.query))
                    return None
            return self.error(404, "NotFound", f"no route {self.command} {path}")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_request  # noqa: N815

    def denied(self) -> bool:
        if not self.may_write:
            self.error(401, "Unauthorized", "Invalid username or password.")
        return not self.may_write

    def found(self, repo: str, revision: str) -> tuple[Repo, Commit] | None:
        known = self.hub.repos.get(repo)
        if known is None or (known.private and not self.may_write):
            self.error(404 if self.may_write else 401, "RepoNotFound", "Repository not found")
            return None
        commit = known.at(revision or "main")
        if commit is None:
            self.error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return None
        return known, commit

    def whoami(self, raw: bytes, query: dict[str, list[str]]) -> None:
        if not self.denied():
            access = {"type": "access_token", "accessToken": {"displayName": "t", "role": "write"}}
            self.json({"type": "user", "name": "tester", "id": "1", "orgs": [], "auth": access})

    def validate_yaml(self, raw: bytes, query: dict[str, list[str]]) -> None:
        from yaml import YAMLError, safe_load

        content = json.loads(raw)["content"]
        try:
            header = safe_load(content.split("---\n")[1])
        except (IndexError, YAMLError) as error:
            return self.json({"errors": [{"message": str(error)}], "warnings": []}, 400)
        bad = [] if isinstance(header, dict) and "license" in header else [{"message": "no metadata"}]
        return self.json({"errors": bad, "warnings": []}, 400 if bad else 200)

    def create(self, raw: bytes, query: dict[str, list[str]]) -> None:
        if self.denied():
            return
        wanted = json.loads(raw)
        repo = f"{wanted.get('organization') or 'tester'}/{wanted['name']}"
        where = {"url": f"{self.hub.url}/{repo}", "name": repo, "id": repo}
        if repo in self.hub.repos:
            self.json({"error": "You already created this model repo", **where}, 409)
            return
        self.hub.create(repo, private=wanted.get("visibility") == "private" or bool(wanted.get("private")))
        self.json(where)

    def preupload(self, repo: str, revision: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if self.denied() or (at := self.found(repo, revision)) is None:
            return
        files = []
        for file in json.loads(raw)["files"]:
            old = at[1].files.get(file["path"])
            large = file["path"].endswith(LFS_SUFFIXES) or file["size"] > LFS_OVER
            mode = "lfs" if large else "regular"
            files.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": old.etag if old else None})
        self.json({"files": files, "commitOid": at[1].oid})

    def batch(self, repo: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if self.denied():
            return
        objects = []
        for wanted in json.loads(raw)["objects"]:
            oid, answer = wanted["oid"], {"oid": wanted["oid"], "size": wanted["size"], "authenticated": True}
            if oid not in self.hub.blobs:
                put = {"href": f"{self.hub.url}/lfs/{oid}"}
                if self.hub.part_size:
                    count = -(-wanted["size"] // self.hub.part_size)
                    parts = {f"{n:05d}": f"{self.hub.url}/lfs/{oid}/part/{n}" for n in range(1, count + 1)}
                    put = {"href": f"{self.hub.url}/lfs/{oid}/parts", "header": {"chunk_size": str(self.hub.part_size), **parts}}
                answer["actions"] = {"upload": put, "verify": {"href": f"{self.hub.url}/lfs/{oid}/verify"}}
            objects.append(answer)
        self.json({"transfer": "multipart" if self.hub.part_size else "basic", "objects": objects})

    def upload(self, oid: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if hashlib.sha256(raw).hexdigest() != oid:
            return self.error(400, "BadDigest", "the content has another SHA-256")
        self.hub.blobs[oid] = raw
        return self.reply(200)

    def upload_part(self, oid: str, number: str, raw: bytes, query: dict[str, list[str]]) -> None:
        self.hub._parts.setdefault(oid, {})[int(number)] = raw
        self.reply(200, headers={"etag": f'"{hashlib.md5(raw).hexdigest()}"'})

    def join_parts(self, oid: str, raw: bytes, query: dict[str, list[str]]) -> None:
        parts = self.hub._parts.pop(oid)
        self.upload(oid, b"".join(parts[part["partNumber"]] for part in json.loads(raw)["parts"]), query)

    def verify(self, oid: str, raw: bytes, query: dict[str, list[str]]) -> None:
        whole = oid in self.hub.blobs and len(self.hub.blobs[oid]) == json.loads(raw)["size"]
        if whole:
            self.reply(200)
        else:
            self.error(404, "EntryNotFound", "no such object")

    def commit(self, repo: str, revision: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if self.denied():
            return
        if self.hub.before_commit is not None:
            meanwhile, self.hub.before_commit = self.hub.before_commit, None
            meanwhile()
        if (at := self.found(repo, revision)) is None:
            return
        files, title = dict(at[1].files), ""
        for line in raw.splitlines():
            item = json.loads(line)
            key, value = item["key"], item["value"]
            if key == "header":
                title = value["summary"]
                if value.get("parentCommit") not in (None, at[1].oid):
                    return self.error(412, "PreconditionFailed", "A commit has happened since. Please refresh and try again.")
            elif key == "file":
                files[value["path"]] = self.hub.stored(value["path"], regular(base64.b64decode(value["content"])))
            elif key == "lfsFile":
                content = self.hub.blobs.get(value["oid"])
                if content is None:
                    return self.error(400, "BadRequest", f"LFS object {value['oid']} was not uploaded")
                files[value["path"]] = self.hub.stored(value["path"], Entry(content, value["oid"], len(content), lfs=True))
            elif key == "deletedFile":
                del files[value["path"]]
        made = at[0].add(title, files)
        url = f"{self.hub.url}/{repo}/commit/{made.oid}"
        return self.json({"success": True, "commitOid": made.oid, "commitUrl": url, "hookOutput": ""})

    def info(self, repo: str, revision: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if (at := self.found(repo, revision)) is None:
            return
        siblings = [{"rfilename": path} for path in sorted(at[1].files)]
        who = {"_id": "0", "id": repo, "modelId": repo, "author": repo.split("/")[0]}
        counts = {
            "disabled": False,
            "gated": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "createdAt": DATE,
            "lastModified": DATE,
        }
        self.json({**who, **counts, "sha": at[1].oid, "private": at[0].private, "siblings": siblings})

    def tree(self, repo: str, revision: str, below: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if (at := self.found(repo, revision)) is None:
            return
        prefix = f"{below.strip('/')}/" if below.strip("/") else ""
        self.json([entry.described(path) for path, entry in sorted(at[1].files.items()) if path.startswith(prefix)][:TREE_PAGE])

    def paths_info(self, repo: str, revision: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if (at := self.found(repo, revision)) is None:
            return
        paths = json.loads(raw)["paths"] if raw.startswith(b"{") else parse_qs(raw.decode()).get("paths", [])
        self.json([at[1].files[path].described(path) for path in paths if path in at[1].files])

    def refs(self, repo: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if (at := self.found(repo, "main")) is not None:
            branch = {"name": "main", "ref": "refs/heads/main", "targetCommit": at[1].oid}
            self.json({"branches": [branch], "tags": [], "converts": []})

    def commits(self, repo: str, revision: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if (at := self.found(repo, revision)) is not None:
            shared = {"message": "", "authors": [{"user": "tester"}], "date": DATE}
            self.json([{"id": commit.oid, "title": commit.title, **shared} for commit in reversed(at[0].commits)])

    def resolve(self, repo: str, revision: str, path: str, raw: bytes, query: dict[str, list[str]]) -> None:
        if (at := self.found(repo, revision)) is None:
            return
        entry = at[1].files.get(path)
        if entry is None:
            self.json({"error": "Entry not found"}, 404, X_Error_Code="EntryNotFound", X_Repo_Commit=at[1].oid)
            return
        headers = {"ETag": f'"{entry.etag}"', "X-Repo-Commit": at[1].oid, "Accept-Ranges": "bytes"}
        if entry.lfs:
            headers |= {"X-Linked-Etag": f'"{entry.etag}"', "X-Linked-Size": str(entry.size)}
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        content, status = entry.content, 200
        if self.command == "GET" and part is not None:
            first, last = int(part[1]), int(part[2] or len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            content, status = content[first : last + 1], 206
        self.reply(status, content, headers, "application/octet-stream")


_REPO = r"([^/]+/[^/]+)"
ROUTES = (
    (r"/api/whoami-v2", "whoami"),
    (r"/api/validate-yaml", "validate_yaml"),
    (r"/api/repos/create", "create"),
    (rf"/api/models/{_REPO}/preupload/([^/]+)", "preupload"),
    (rf"/api/models/{_REPO}/commit/([^/]+)", "commit"),
    (rf"/api/models/{_REPO}/tree/([^/]+)(/.*)?", "tree"),
    (rf"/api/models/{_REPO}/paths-info/([^/]+)", "paths_info"),
    (rf"/api/models/{_REPO}/refs", "refs"),
    (rf"/api/models/{_REPO}/commits/([^/]+)", "commits"),
    (rf"/api/models/{_REPO}(?:/revision/([^/]+))?", "info"),
    (rf"/{_REPO}\.git/info/lfs/objects/batch", "batch"),
    (r"/lfs/([0-9a-f]{64})", "upload"),
    (r"/lfs/([0-9a-f]{64})/part/(\d+)", "upload_part"),
    (r"/lfs/([0-9a-f]{64})/parts", "join_parts"),
    (r"/lfs/([0-9a-f]{64})/verify", "verify"),
    (rf"/{_REPO}/resolve/([^/]+)/(.+)", "resolve"),
)
