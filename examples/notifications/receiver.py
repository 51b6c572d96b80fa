"""Print the notifications that a daemon sends, and refuse forged ones.

Run it with a port, and with the daemon's `notify_secret` in NOTIFY_SECRET.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import time
from collections.abc import Mapping

KEY = base64.b64decode(os.environ["NOTIFY_SECRET"].removeprefix("whsec_"))
seen: set[str] = set()


def is_genuine(headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether *body* was signed with the secret in the last five minutes."""
    number, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    mac = hmac.digest(KEY, f"{number}.{timestamp}.".encode() + body, hashlib.sha256)
    expected = "v1," + base64.b64encode(mac).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in given)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Prints the type and the job of each notification, once."""

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers["Content-Length"]), 100_000))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if not is_genuine(headers, body):
            self.answer(401)
            return
        if headers["webhook-id"] not in seen:
            seen.add(headers["webhook-id"])
            notification = json.loads(body)
            print(notification["type"], notification["data"]["job"], flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
