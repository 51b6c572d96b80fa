"""`/docs`: the OpenAPI document as a page to read, which loads nothing from other hosts."""

import base64
import json
import shlex
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from typing import Any
from urllib.parse import urlencode

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h2 { margin-top: 2.5rem; font-size: 1.1rem; }
pre { background: #8882; padding: 0.7rem; overflow-x: auto; }
"""

#: Content-Security-Policy: no scripts, nothing from other hosts, and only this style.
POLICY = (
    "default-src 'none'; style-src "
    f"'sha256-{base64.b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def write_reference(document: Mapping[str, Any]) -> str:
    """Return the page of an OpenAPI *document*."""
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}: HTTP interface")
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f"<p>{_prose(info['description'])}</p>"
        '<p>For programs: <a href="/openapi.json">/openapi.json</a>, OpenAPI 3.1. In the examples, '
        "<code>$URL</code> is the address of this page without <code>/docs</code>.</p>"
    ]
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            parts += _endpoint(method.upper(), path, described)
    parts.append('<h2 id="errors">Errors</h2><ul>')
    for status, response in document["components"]["responses"].items():
        parts.append(f"<li>{escape(status)}: {_prose(response['description'])}</li>")
    parts.append("</ul></body></html>\n")
    return "".join(parts)


def _endpoint(method: str, path: str, described: Mapping[str, Any]) -> Iterator[str]:
    body = described.get("requestBody", {}).get("content", {}).get("application/json", {})
    yield f'<h2 id="{escape(described["operationId"])}">{method} {escape(path)}</h2>'
    yield f"<p>{escape(described['summary'])}. {_prose(described['description'])}</p><ul>"
    schema = body.get("schema", {})
    fields = {each["name"]: each for each in described.get("parameters", ())}
    for name, field in (fields | schema.get("properties", {})).items():
        is_needed = name in schema.get("required", ()) or field.get("required")
        needed = " (required)" if is_needed else ""
        told = _prose(field.get("description", ""))
        yield f"<li><code>{escape(name)}</code>{needed}: {told}</li>"
    yield f"</ul><pre>{escape(_curl(method, path, described, body))}</pre>"
    for content in described["responses"]["200"]["content"].values():
        if "example" in content:
            shown = json.dumps(content["example"], indent=2, ensure_ascii=False)
            yield f"<pre>{escape(shown)}</pre>"


def _curl(method: str, path: str, described: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    query = []
    for parameter in described.get("parameters", ()):
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", str(parameter.get("example", "")))
        elif "example" in parameter:
            query.append((parameter["name"], parameter["example"]))
    words = ["curl", '"$URL' + path + ("?" + urlencode(query, doseq=True) if query else "") + '"']
    if method == "POST":
        example = json.dumps(body.get("example", {}), ensure_ascii=False)
        words += ["-H", "'Content-Type: application/json'", "-d", shlex.quote(example)]
    return " ".join(words)


def _prose(text: str) -> str:
    """Return *text* as HTML, with the parts between backticks as code."""
    pieces = text.split("`")
    return "".join(
        f"<code>{escape(piece)}</code>" if number % 2 else escape(piece)
        for number, piece in enumerate(pieces)
    )
