"""A small server of our own that speaks the part of the Hugging Face hub's protocol that its client uses to fetch: not the hub itself.

Two addresses: the hub's, and one for large files that the hub redirects to, as the real one does with its CDN.
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

LARGE = 1000
"""Bytes from which on a file counts as a large one (LFS), which has a sha256."""


@dataclass
class Hub:
    """Commits with their files, what the names stand for, and the faults that a test asks for."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    token: str = ""
    """Wanted of everybody; empty: a public repository."""
    gated: bool = False
    down: int = 0
    """So many requests are answered with 503."""
    break_after: int = 0
    """A large file's connection is broken off after so many bytes, once for each `breaks`."""
    breaks: int = 0
    damaged: int = 0
    """So many transfers of large files have a wrong byte."""
    answered_commit: str = ""
    """The commit that files are said to be of, when it is to be a wrong one."""
    requests: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Method, address, Range and Authorization of each."""
    endpoint: str = ""
    cdn: str = ""

    def commit(self, files: dict[str, bytes], *, name: str = "main") -> str:
        """Add a commit and let a branch or tag stand for it."""
        identity = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.commits[identity] = files
        self.names[name] = identity
        return identity

    def ranges(self) -> list[str]:
        return [wanted for method, _, wanted, _ in self.requests if method == "GET" and wanted]


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            given = self.headers.get("Authorization", "")
            hub.requests.append((self.command, f"http://{self.headers['Host']}{path}", self.headers.get("Range", ""), given))
            if hub.down:
                hub.down -= 1
                self._say(503, {}, b"", body=body)
                return
            if match := re.fullmatch(r"/cdn/(.+)", path):
                self._large(match[1], body=body)
                return
            if hub.gated:
                self._say(403, {"X-Error-Code": "GatedRepo", "X-Error-Message": "gated"}, b"", body=body)
                return
            if hub.token and given != f"Bearer {hub.token}":
                self._say(401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository Not Found"}, b"", body=body)
                return
            if match := re.fullmatch(r"/api/models/org/small/revision/(.+)", path):
                self._information(match[1], body=body)
                return
            if match := re.fullmatch(r"/api/models/org/small/tree/([^/]+)", path):
                self._tree(match[1], body=body)
                return
            if match := re.fullmatch(r"/org/small/resolve/([^/]+)/(.+)", path):
                self._file(match[1], match[2], body=body)
                return
            self._say(404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository Not Found"}, b"", body=body)
            return

        def _information(self, revision: str, *, body: bool) -> None:
            commit = hub.names.get(revision, revision)
            if commit not in hub.commits:
                self._say(404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"}, b"", body=body)
                return
            siblings = []
            for name, content in hub.commits[commit].items():
                entry: dict[str, object] = {"rfilename": name, "size": len(content), "blobId": _blob(content)}
                if len(content) >= LARGE:
                    entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
                siblings.append(entry)
            text = json.dumps({"id": "org/small", "modelId": "org/small", "sha": commit, "siblings": siblings}).encode()
            self._say(200, {"Content-Type": "application/json"}, text, body=body)

        def _tree(self, revision: str, *, body: bool) -> None:
            entries = []
            for name, content in hub.commits[hub.names.get(revision, revision)].items():
                entry: dict[str, object] = {"type": "file", "path": name, "size": len(content), "oid": _blob(content)}
                if len(content) >= LARGE:
                    entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
                entries.append(entry)
            self._say(200, {"Content-Type": "application/json"}, json.dumps(entries).encode(), body=body)

        def _file(self, revision: str, name: str, *, body: bool) -> None:
            commit = hub.names.get(revision, revision)
            content = hub.commits.get(commit, {}).get(name)
            if content is None:
                self._say(404, {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"}, b"", body=body)
                return
            headers = {"X-Repo-Commit": hub.answered_commit or commit, "ETag": f'"{_blob(content)}"'}
            if len(content) < LARGE:
                self._say(200, headers, content, body=body)
                return
            digest = hashlib.sha256(content).hexdigest()
            headers |= {"X-Linked-ETag": f'"{digest}"', "X-Linked-Size": str(len(content)), "Location": f"{hub.cdn}/cdn/{digest}"}
            self._say(302, headers, b"", body=body)
            return

        def _large(self, digest: str, *, body: bool) -> None:
            content = next(c for files in hub.commits.values() for c in files.values() if hashlib.sha256(c).hexdigest() == digest)
            start = int((re.match(r"bytes=(\d+)-", self.headers.get("Range", "")) or ["", "0"])[1])
            part = content[start:]
            if hub.damaged:
                hub.damaged -= 1
                part = bytes([part[0] ^ 1]) + part[1:]
            cut = len(part)
            if hub.breaks and len(part) > hub.break_after:
                hub.breaks -= 1
                cut = hub.break_after
            headers = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
            self._say(206 if start else 200, headers, part, body=body, cut=cut)

        def _say(self, status: int, headers: dict[str, str], content: bytes, *, body: bool, cut: int | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(content[:cut])
            if cut is not None and cut < len(content):
                self.close_connection = True

        def log_message(self, format: str, *arguments: object) -> None:
            """A test's output is its own."""

    return Handler


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve on loopback until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    port = server.server_address[1]
    # Another name for the same machine is another host, as far as tokens are concerned.
    hub.endpoint, hub.cdn = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
