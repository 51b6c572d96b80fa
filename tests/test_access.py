"""Who may call the daemon: tokens, names of hosts, origins of pages."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web
from multidict import CIMultiDict

from scenarioctl.config import Settings
from scenarioctl.errors import Forbidden, InvalidRequest, ScenarioctlError, Unauthorized
from scenarioctl.server.access import Access, address_of, check_binding, read_tokens
from scenarioctl.server.endpoints import ENDPOINTS
from tests.messages import Says, says

OPS, PHONE = "sctl_ops", "sctl_phone"
TOKENS = {
    "ops": {
        "sha256": sha256(OPS.encode()).hexdigest(),
        "scopes": ["read", "create", "broadcast", "jobs"],
    },
    "phone": {"sha256": sha256(PHONE.encode()).hexdigest(), "scopes": ["read"]},
}
SETTINGS = Settings(config=Path("c.toml"), store="s.db", cache=Path("cache"))
SCOPE = {endpoint.path: endpoint for endpoint in ENDPOINTS}
READ, CREATE, JOBS = SCOPE["/api/scenario/info"], SCOPE["/api/create/scenario"], SCOPE["/job/start"]
BROADCAST, WEBHOOK = SCOPE["/api/chain/Broadcast"], SCOPE["/webhook/{uuid}"]


@dataclass
class Call:
    """A request, as far as access to the daemon goes."""

    headers: CIMultiDict[str]
    method: str
    remote: str
    sockname: Any
    connection: socket.socket | None = None

    def get_extra_info(self, name: str) -> Any:
        return {"sockname": self.sockname, "socket": self.connection}[name]


def call(
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    remote: str = "127.0.0.1",
    reached: Any = ("127.0.0.1", 8080),
) -> web.BaseRequest:
    given = CIMultiDict({"Host": "127.0.0.1:8080"} | dict(headers or {}))
    return cast(web.BaseRequest, Call(given, method, remote, reached))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def refusal(access: Access, request: web.BaseRequest, endpoint: Any = READ) -> tuple[type, str]:
    with pytest.raises(ScenarioctlError) as refused:
        access.admit(request, endpoint)
    return type(refused.value), str(refused.value)


def test_without_tokens_everybody_on_this_machine_may_call() -> None:
    access = Access(SETTINGS)

    assert access.admit(call(), READ) == "127.0.0.1"
    assert access.admit(call(bearer("whatever")), BROADCAST) == "127.0.0.1"


def test_a_token_is_good_for_its_scopes() -> None:
    access = Access(replace(SETTINGS, tokens=TOKENS))

    assert [access.admit(call(bearer(OPS)), each) for each in (READ, CREATE, JOBS, BROADCAST)] == [
        "ops"
    ] * 4
    assert access.admit(call({"authorization": f"bearer  {PHONE} "}), READ) == "phone"
    assert refusal(access, call(bearer(PHONE)), CREATE) == (
        Forbidden,
        says("token", "phone"),
    )
    assert refusal(access, call(bearer(PHONE)), JOBS)[0] is Forbidden


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({}, says("token", "Authorization")),
        (bearer("sctl_other"), says("token", "daemon")),
        (bearer(""), says("token", "daemon")),
        (bearer("\udcff"), says("token", "daemon")),
        (bearer(TOKENS["ops"]["sha256"]), says("token", "daemon")),  # type: ignore[arg-type]
        ({"Authorization": f"Basic {OPS}"}, says("Authorization", "kind")),
        ({"Authorization": OPS}, says("Authorization", "kind")),
        ({"X-Token": OPS}, says("token", "Authorization")),
    ],
)
def test_who_has_no_token_is_not_let_in(headers: Mapping[str, str], sentence: Any) -> None:
    access = Access(replace(SETTINGS, tokens=TOKENS))

    assert refusal(access, call(headers)) == (Unauthorized, sentence)


def test_a_webhook_is_open_to_those_who_know_its_uuid() -> None:
    access = Access(replace(SETTINGS, tokens=TOKENS))

    assert access.admit(call(remote="127.0.0.9"), WEBHOOK) == "127.0.0.9"


def test_every_endpoint_names_a_scope_that_tokens_can_have() -> None:
    assert {endpoint.scope for endpoint in ENDPOINTS} == {
        "read",
        "create",
        "broadcast",
        "jobs",
        "open",
    }


@pytest.mark.parametrize(
    ("host", "reached"),
    [
        ("localhost", ("127.0.0.1", 8080)),
        ("LOCALHOST:8080", ("127.0.0.1", 8080)),
        ("127.0.0.1:9", ("127.0.0.1", 8080)),
        ("127.3.2.1", ("127.0.0.1", 8080)),
        ("[::1]:8080", ("::1", 8080, 0, 0)),
        ("192.0.2.7:8080", ("192.0.2.7", 8080)),
        ("192.0.2.7", ("::ffff:192.0.2.7", 8080, 0, 0)),
        ("[2001:DB8::1]", ("2001:db8::1", 8080, 0, 0)),
        ("daemon.example.org", ("192.0.2.7", 8080)),
        ("Daemon.Example.Org.:443", ("192.0.2.7", 8080)),
        # On a Unix socket a client has to make one up.
        ("anything", "/run/scenarioctl.sock"),
        ("", "/run/scenarioctl.sock"),
    ],
)
def test_a_host_is_one_of_the_daemons_names(host: str, reached: Any) -> None:
    access = Access(replace(SETTINGS, hosts=("daemon.example.org:443",)))
    request = call({"Host": host}, reached=reached)

    assert access.admit(request, READ) == access.admit(request, READ)


@pytest.mark.parametrize(
    ("headers", "reached"),
    [
        ({"Host": "evil.example"}, ("127.0.0.1", 8080)),
        ({"Host": "evil.example:8080"}, ("127.0.0.1", 8080)),
        ({"Host": "localhost.evil.example"}, ("127.0.0.1", 8080)),
        ({"Host": "127.0.0.1.evil.example"}, ("127.0.0.1", 8080)),
        ({"Host": "127.0.0.1@evil.example"}, ("127.0.0.1", 8080)),
        ({"Host": "evil.example#localhost"}, ("127.0.0.1", 8080)),
        ({"Host": ""}, ("127.0.0.1", 8080)),
        ({"Host": "192.0.2.8"}, ("192.0.2.7", 8080)),
        ({"Host": "2130706433"}, ("127.0.0.1", 8080)),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, "/run/scenarioctl.sock"),
        ({"Host": "evil.example", "Sec-Fetch-Site": "same-origin"}, "/run/scenarioctl.sock"),
    ],
)
def test_a_name_that_an_attacker_made_lead_here_is_refused(
    headers: Mapping[str, str], reached: Any
) -> None:
    access = Access(replace(SETTINGS, hosts=("daemon.example.org",)))

    kind, sentence = refusal(access, call(headers, reached=reached, method="GET"))

    assert kind is Forbidden
    assert sentence == says("Host", headers["Host"])


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"Origin": "http://127.0.0.1:8080"}),
        ("POST", {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}),
        # Behind a proxy that speaks TLS.
        ("POST", {"Host": "localhost", "Origin": "https://localhost"}),
        ("POST", {"Origin": "https://app.example.org", "Sec-Fetch-Site": "cross-site"}),
        ("POST", {"Origin": "HTTPS://APP.example.org"}),
        # A link on another site to the daemon's own page.
        ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}),
        ("GET", {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}),
    ],
)
def test_the_daemons_own_page_and_those_of_cors_may_call(
    method: str, headers: Mapping[str, str]
) -> None:
    access = Access(replace(SETTINGS, cors=("https://app.example.org",)))

    assert access.admit(call(headers, method=method), READ) == "127.0.0.1"


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"Origin": "http://evil.example"}),
        ("POST", {"Origin": "null"}),
        ("POST", {"Origin": ""}),
        ("POST", {"Origin": "http://127.0.0.1:3000"}),
        ("POST", {"Origin": "http://localhost:8080"}),
        ("POST", {"Origin": "file://127.0.0.1:8080"}),
        ("POST", {"Origin": "https://app.example.org.evil.example"}),
        ("POST", {"Origin": "https://app.example.org:444"}),
        ("GET", {"Origin": "http://evil.example"}),
        ("POST", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}),
        ("POST", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}),
        ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}),
    ],
)
def test_pages_of_others_may_not_call(method: str, headers: Mapping[str, str]) -> None:
    access = Access(replace(SETTINGS, cors=("https://app.example.org",)))

    kind, sentence = refusal(access, call(headers, method=method))

    assert kind is Forbidden
    assert sentence.endswith(
        "is not allowed to call this daemon, expected none, the daemon's own, or one in "
        "the setting cors"
    )


def test_browsers_let_pages_of_cors_have_the_answer_and_no_others() -> None:
    access = Access(replace(SETTINGS, cors=("https://app.example.org",)))
    theirs = {"Origin": "https://app.example.org"}

    assert access.cors(call(theirs)) == {
        "Vary": "Origin",
        "Access-Control-Allow-Origin": "https://app.example.org",
    }
    assert access.cors(call({"Origin": "http://evil.example"})) == {"Vary": "Origin"}
    assert access.cors(call(theirs | {"Access-Control-Request-Private-Network": "true"})) == {
        "Vary": "Origin",
        "Access-Control-Allow-Origin": "https://app.example.org",
        "Access-Control-Allow-Private-Network": "true",
    }
    assert Access(SETTINGS).cors(call(theirs)) == {}


def test_all_origins_may_call_only_where_a_token_is_asked_for() -> None:
    access = Access(replace(SETTINGS, cors=("*",), tokens=TOKENS))

    assert access.admit(call(bearer(PHONE) | {"Origin": "http://any.example"}), READ) == "phone"
    with pytest.raises(InvalidRequest, match=r"^cors holds '\*' and no token is configured"):
        Access(replace(SETTINGS, cors=("*",)))


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"a b": {}}, says("token", "a b")),
        ({"ops": "sctl_x"}, says("tokens.ops", "table")),
        ({"ops": {"token": "x"}}, says("tokens.ops", "sha256")),
        ({"ops": {"sha256": OPS, "scopes": ["read"]}}, says("tokens.ops", "sha256", "token")),
        ({"ops": {"sha256": "0" * 64}}, says("tokens.ops.scopes", "scopes")),
        ({"ops": {"sha256": "0" * 64, "scopes": []}}, says("tokens.ops.scopes", "scopes")),
        (
            {"ops": {"sha256": "0" * 64, "scopes": ["read", "write"]}},
            says("tokens.ops.scopes", "write"),
        ),
    ],
)
def test_tokens_that_cannot_be_used_are_named_and_not_shown(
    tables: dict[str, Any], sentence: Says
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_tokens(tables)

    assert str(refused.value) == sentence
    assert OPS not in str(refused.value)


def test_other_machines_are_not_let_in_without_a_token_unless_forced() -> None:
    open_to_all = Access(SETTINGS)

    with pytest.raises(InvalidRequest) as refused:
        check_binding(open_to_all, ["http://0.0.0.0:8080"], force=False)
    check_binding(open_to_all, [], force=False)
    check_binding(open_to_all, ["http://0.0.0.0:8080"], force=True)
    check_binding(Access(replace(SETTINGS, tokens=TOKENS)), ["http://0.0.0.0:8080"], force=False)

    assert str(refused.value) == says(
        "listen", "http://0.0.0.0:8080", "NAME", "127.0.0.1", "--force"
    )


def test_a_client_without_a_token_goes_by_its_address_network_or_user() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        local = cast(web.BaseRequest, Call(CIMultiDict(), "GET", "", "/run/x", ours))
        user = address_of(local)

    assert user.startswith("uid ")
    assert address_of(call(remote="192.0.2.7")) == "192.0.2.7"
    assert address_of(call(remote="2001:db8:1:2:3:4:5:6")) == "2001:db8:1:2::/64"
    assert address_of(call(remote="::1")) == "::1"
