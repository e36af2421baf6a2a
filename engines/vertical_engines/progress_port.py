"""Shows the newest line of progress to whoever asks on a port: the operator reads it there, since a build's pod has no API token."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from vertical_engines.contract.fetch import PROGRESS_LIMIT
from vertical_engines.progress import Say


@contextmanager
def shown(say: Say, *, port: int) -> Iterator[Say]:
    """A `say` whose last line is served at `GET /` until the body ends. A port that can't be had costs the display, never the work."""
    newest = [""]

    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            body = newest[0].encode()[:PROGRESS_LIMIT]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Requests are not worth a line in the build's log."""

    def tell(text: str) -> None:
        newest[0] = text
        say(text)

    try:
        server = ThreadingHTTPServer(("0.0.0.0", port), Handler)
    except OSError as error:
        say(f"progress is shown in this log only: port {port}: {error.strerror}")
        yield tell
        return
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="progress", daemon=True).start()
    try:
        yield tell
    finally:
        server.shutdown()
        server.server_close()
