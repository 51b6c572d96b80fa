"""A web server on loopback that answers late: a leg that asks it is in progress for that long."""

import threading
import time
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.test_jobs import node

#: What a process may reach that asks it.
TARGETS = "127.0.0.1"


class _Late(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        time.sleep(float(self.path[1:]))
        # Whoever asked may have been killed.
        with suppress(OSError):
            self.send_response(204)
            self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 1000


@cache
def _port() -> int:
    server = _Server(("127.0.0.1", 0), _Late)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def slow_step(seconds: float) -> dict[str, Any]:
    """Return a step that takes so many seconds."""
    return node("h", "http", url=f"http://127.0.0.1:{_port()}/{seconds}")
