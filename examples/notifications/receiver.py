"""Print the notifications that a daemon sends, pass them on to a chat, and refuse forged ones.

Run it with a port, and with the daemon's `notify_secret` in NOTIFY_SECRET. CHAT_URL is a webhook of
Slack, Mattermost or another chat that takes `{"text": …}`; without it, nothing is passed on.
"""

import base64
import hashlib
import hmac
import html
import http.server
import json
import os
import sys
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

KEY = base64.b64decode(os.environ["NOTIFY_SECRET"].removeprefix("whsec_"))
CHAT = os.environ.get("CHAT_URL", "")
TITLES = {
    "draft_ready": "Ready to sign",
    "run_failed": "Run failed",
    "job_paused": "Job paused",
    "draft_expiring": "Expires soon",
}
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


def post(kind: str, data: Mapping[str, Any]) -> None:
    """Post a notification to the chat; OSError if the chat doesn't take it."""
    subject = data["name"] or data["summary"] or data["job"] or ""
    lines = (f"{TITLES.get(kind, kind)}: {subject}", data["reason"], data["url"])
    # Escaped, a name neither mentions anybody nor makes a link.
    text = "\n".join(html.escape(each, quote=False) for each in lines if each)
    body = json.dumps({"text": text}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(CHAT, body, headers)  # noqa: S310
    urllib.request.urlopen(request, timeout=8).close()  # noqa: S310


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes each notification once."""

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers["Content-Length"]), 100_000))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if not is_genuine(headers, body):
            self.answer(401)
            return
        if headers["webhook-id"] not in seen:
            notification = json.loads(body)
            print(notification["type"], notification["data"]["job"], flush=True)
            try:
                if CHAT:
                    post(notification["type"], notification["data"])
            except OSError:
                # The daemon sends it again.
                self.answer(502)
                return
            seen.add(headers["webhook-id"])
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
