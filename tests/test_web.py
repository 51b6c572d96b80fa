"""The web page's own paths: its files, and the codes that Polkadot Vault scans."""

import base64
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest

from scenarioctl.server import pages
from scenarioctl.server.handlers import ServerContext
from tests.messages import Says, says
from tests.serving import Serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("served")) as serving:
        yield serving


@pytest.mark.parametrize("path", ["/", "/web/main.js", "/web/page.css", "/web/icon.svg"])
def test_the_page_loads_nothing_from_elsewhere_and_stands_in_no_frame(
    served: Serving, path: str
) -> None:
    reply = served.get(path)

    assert reply.status == 200
    assert reply.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert served.get(path, If_None_Match=reply.headers["etag"]).status == 304


def test_a_payload_becomes_a_code_for_each_frame(served: Serving) -> None:
    reply = served.post("/web/vault", {"payload": "0x" + "53" * 2000})

    codes = [base64.b64decode(code) for code in reply.json()["codes"]]
    assert len(codes) == 2
    assert all(code.startswith(b"<?xml") and b"<script" not in code for code in codes)


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"payload": "hello"}, 422, says("payload", "hello")),
        ({}, 422, says("payload", "null")),
        ([], 422, says("payload", "null")),
        ({"payload": "0x" + "00" * 131_072}, 413, says("body", "262144")),
    ],
)
def test_a_payload_that_is_none_is_refused(
    served: Serving, fields: Any, status: int, error: Says
) -> None:
    reply = served.post("/web/vault", fields)

    assert (reply.status, reply.json()["error"]) == (status, error)


def test_the_reader_of_codes_is_the_one_that_was_built(served: Serving) -> None:
    """Nobody reads minified code in a review, so its hash stands here: `tools/bundle_qr.py --check`
    builds it again."""
    reply = served.get("/web/qr.js")

    assert (
        sha256(reply.body).hexdigest()
        == "df25645d568a911bd1e458cad71d803a902287c4a74b95315d348decb10ef08f"
    )
    assert len(reply.body) < 40_000
    assert "MIT License" in served.get("/web/qr.LICENSE.txt").body.decode()


def test_the_files_of_the_page_are_those_of_the_package() -> None:
    folder = Path(pages.__file__).parents[1] / "web"

    assert sorted(
        row.path for row, _ in pages.page_file_routes(cast(ServerContext, None))
    ) == sorted(
        [
            "/",
            "/web/vault",
            "/web/identicon/{account}.svg",
            *(
                f"/web/{file.name}"
                for file in folder.iterdir()
                if file.suffix in (".js", ".css", ".svg", ".txt")
            ),
        ]
    )
