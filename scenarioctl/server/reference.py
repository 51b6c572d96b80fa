"""`/docs`: the OpenAPI document as a page to read, which loads nothing from other hosts."""

import base64
import json
import shlex
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from typing import Any
from urllib.parse import urlencode

from scenarioctl.server.openapi import ANOTHER_NAME

_STYLE = """
:root { color-scheme: light dark; --line: #8885; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
h3 { margin-top: 2.5rem; font-size: 1.1rem; }
h3 code { font-size: 1rem; }
nav ul { columns: 2; padding-left: 1.2rem; }
nav li { break-inside: avoid; }
nav li a { display: block; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { background: var(--soft); padding: 0.7rem; overflow-x: auto; border-radius: 6px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem 0.3rem 0;
  border-bottom: 1px solid var(--line); }
.method { font-weight: 700; }
@media (max-width: 40rem) { nav ul { columns: 1; } }
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
    by_tag: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            by_tag.setdefault(described["tags"][0], []).append((method.upper(), path, described))
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        (
            f"<title>{escape(info['title'])} HTTP "
            f"interface</title><style>{_STYLE}</style></head><body>"
        ),
        f"<h1>{escape(info['title'])} {escape(info['version'])}: HTTP interface</h1>",
        f"<p>{_prose(info['description'])}</p>",
        '<p>For programs: <a href="/openapi.json">/openapi.json</a>, OpenAPI 3.1. In the examples, '
        "<code>$URL</code> is the address of this page without <code>/docs</code>.</p><nav>",
    ]
    for tag in (each["name"] for each in document["tags"]):
        if tag in by_tag:
            parts.append(f"<p><strong>{escape(tag)}</strong></p><ul>")
            parts += [
                (
                    f'<li><a href="#{_anchor(described)}"><code>{escape(path)}</code></a> '
                    f"{escape(described['summary'])}</li>"
                )
                for _, path, described in by_tag[tag]
            ]
            parts.append("</ul>")
    parts.append('<p><a href="#errors"><strong>Errors</strong></a></p></nav><main>')
    for tag in (each["name"] for each in document["tags"]):
        if tag in by_tag:
            parts.append(f"<h2>{escape(tag)}</h2>")
            for method, path, described in by_tag[tag]:
                parts += _endpoint(method, path, described)
    parts += _errors(document)
    parts.append("</main></body></html>\n")
    return "".join(parts)


def _endpoint(method: str, path: str, described: Mapping[str, Any]) -> Iterator[str]:
    yield f'<section id="{_anchor(described)}"><h3>{escape(described["summary"])}</h3>'
    yield f'<p><code><span class="method">{method}</span> {escape(path)}</code></p>'
    yield f"<p>{_prose(described['description'])}</p>"
    rows = list(_fields(described))
    if rows:
        yield "<table><thead><tr><th>Field</th><th>Type</th><th></th></tr></thead><tbody>"
        for name, kind, note in rows:
            yield (
                f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td><td>"
                f"{_prose(note)}</td></tr>"
            )
        yield "</tbody></table>"
    yield f"<pre>{escape(_curl(method, path, described))}</pre>"
    for content in described["responses"]["200"]["content"].values():
        if "example" in content:
            yield (
                f"<pre>{escape(json.dumps(content['example'], indent=2, ensure_ascii=False))}</pre>"
            )
    yield "</section>"


def _fields(described: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for parameter in described.get("parameters", ()):
        needed = "required, " if parameter.get("required") else ""
        place = {"path": "in the path", "query": "in the query string", "header": "in a header"}[
            parameter["in"]
        ]
        yield (
            parameter["name"],
            f"{needed}{_kind(parameter['schema'])}, {place}",
            parameter.get("description", ""),
        )
    body = _body(described)
    schema = body.get("schema", {})
    required = {
        *schema.get("required", ()),
        *(each["required"][0] for each in schema.get("anyOf", ())),
    }
    others: dict[str, list[str]] = {}
    for name, each in schema.get("properties", {}).items():
        before, told, field = each.get("description", "").partition(ANOTHER_NAME)
        if told and not before:
            others.setdefault(field.strip(" ."), []).append(f"`{name}`")
    spelled = {name for names in others.values() for name in names}
    for name, each in schema.get("properties", {}).items():
        if f"`{name}`" not in spelled:
            needed = "required, " if name in required else ""
            also = f" Also spelled {', '.join(others[name])}." if name in others else ""
            yield name, needed + _kind(each), each.get("description", "") + also


def _body(described: Mapping[str, Any]) -> Mapping[str, Any]:
    content: Mapping[str, Mapping[str, Any]] = described.get("requestBody", {}).get("content", {})
    return content.get("application/json", {})


def _kind(schema: Mapping[str, Any]) -> str:
    kinds = schema.get("type", "anything")
    kinds = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    text = " or ".join(kinds)
    return f"{text} (default {json.dumps(schema['default'])})" if "default" in schema else text


def _curl(method: str, path: str, described: Mapping[str, Any]) -> str:
    query = []
    for parameter in described.get("parameters", ()):
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", str(parameter.get("example", "")))
        elif "example" in parameter:
            query.append((parameter["name"], parameter["example"]))
    url = "$URL" + path + ("?" + urlencode(query, doseq=True) if query else "")
    words = ["curl", f'"{url}"']
    if method == "POST":
        words += ["-H", "'Content-Type: application/json'"]
        words += [
            "-d",
            shlex.quote(json.dumps(_body(described).get("example", {}), ensure_ascii=False)),
        ]
    return " ".join(words)


def _errors(document: Mapping[str, Any]) -> Iterator[str]:
    yield '<section id="errors"><h2>Errors</h2>'
    yield "<table><thead><tr><th>Status</th><th>Code</th></tr></thead><tbody>"
    for status, response in document["components"]["responses"].items():
        yield f"<tr><td>{escape(status)}</td><td>{_prose(response['description'])}</td></tr>"
    yield "</tbody></table></section>"


def _anchor(described: Mapping[str, Any]) -> str:
    return escape(described["operationId"])


def _prose(text: str) -> str:
    """Return *text* as HTML, with the parts between backticks as code."""
    pieces = text.split("`")
    return "".join(
        f"<code>{escape(piece)}</code>" if number % 2 else escape(piece)
        for number, piece in enumerate(pieces)
    )
