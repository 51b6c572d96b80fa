"""No scenario gets an http step to reach what only this machine, or the network around it, may
reach."""

import asyncio
import socket
from typing import Any

import pytest

from scenarioctl.errors import InvalidRequest, RequestFailed
from scenarioctl.outgoing import WebAnswer, WebRequest
from scenarioctl.outgoing.client import Outgoing
from scenarioctl.outgoing.guard import Guard
from tests.loops import each_loop
from tests.messages import raises, says
from tests.web import Visit, serving

__all__ = ["each_loop"]

#: Each a way to write or to reach an address that is not public.
REFUSED = [
    # this machine, this network
    "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "::", "::1",
    # private networks
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255",
    "fc00::1", "fd00:ec2::254", "fdff:ffff::1", "fec0::1",
    # carrier-grade NAT, and clouds' metadata
    "100.64.0.1", "100.100.100.200", "100.127.255.255", "169.254.169.254", "169.254.0.1",
        "168.63.129.16", "192.0.0.192",
    "fe80::1", "fe80::1%eth0", "fe80::a9fe:a9fe%1", "febf::1",
    # an IPv4 address inside of an IPv6 one: mapped, compatible, translated, NAT64, 6to4, Teredo,
    # ISATAP
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::ffff:0:127.0.0.1", "::127.0.0.1",
        "::7f00:1",
    "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::a00:1", "64:ff9b:1:ffff::1",
    "2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001::1",
        "fe80::5efe:7f00:1",
    # reserved, documentation, benchmarks, multicast, broadcast
    "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "192.88.99.1",
        "240.0.0.1",
    "224.0.0.1", "239.255.255.255", "255.255.255.255", "100::1", "2001:db8::1", "3fff::1",
        "5f00::1", "ff02::1", "ff0e::1",
    # not an address at all
    "", "example.org", "1.2.3", "127.1", "0x7f000001", "/run/socket",
]  # fmt: skip
ALLOWED = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.1",
    "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
        "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8",
    "2000::1", "2001:200::1", "2606:4700::1111", "2a00:1450::1", "2003::1",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not Guard().allows(address)


@pytest.mark.parametrize("address", ALLOWED)
def test_a_public_address_is_reached(address: str) -> None:
    assert Guard().allows(address)


def test_an_address_of_this_machine_is_refused_however_public(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As if loopback were an address that a provider gave this machine.
    monkeypatch.setattr("scenarioctl.outgoing.guard._REFUSED_V4", ())

    assert not Guard().allows("127.0.0.1")
    assert Guard().allows("192.0.2.1")
    assert Guard(["127.0.0.0/8"]).allows("127.0.0.1")


class TestPrivateTargets:
    @pytest.mark.parametrize(
        ("target", "address"),
        [
            ("10.1.2.0/24", "10.1.2.255"),
            ("10.1.2.3/24", "10.1.2.9"),
            ("10.1.2.3", "10.1.2.3"),
            ("127.0.0.1", "::ffff:127.0.0.1"),
            ("fd00::/8", "fd12::1"),
            ("[::1]", "::1"),
            ("64:ff9b::/96", "64:ff9b::a00:1"),
        ],
    )
    def test_a_network_of_ones_own_is_reached(self, target: str, address: str) -> None:
        assert Guard([target]).allows(address)

    @pytest.mark.parametrize(
        ("target", "address"),
        [
            ("10.1.2.0/24", "10.1.3.0"),
            ("10.1.2.3", "10.1.2.4"),
            ("printer.lan", "10.1.2.3"),
            ("::1", "127.0.0.1"),
            ("127.0.0.0/8", "64:ff9b::7f00:1"),
        ],
    )
    def test_and_nothing_beside_it(self, target: str, address: str) -> None:
        assert not Guard([target]).allows(address)

    def test_a_host_of_ones_own_may_lead_anywhere(self) -> None:
        guard = Guard(["Printer.LAN."])

        assert [guard.trusts(name) for name in ("printer.lan", "PRINTER.lan.")] == [True, True]
        assert [
            guard.trusts(name) for name in ("lan", "a.printer.lan", "printer.lan.evil", "")
        ] == [False] * 4

    @pytest.mark.parametrize(
        "target", ["", "http://printer.lan", "10.0.0.0/33", "10.0.0.1:80", "*", "a b"]
    )
    def test_what_is_neither_is_refused(self, target: str) -> None:
        with raises(InvalidRequest, says("private_targets", target)):
            Guard([target])


class TestReaching:
    """A server on loopback that must never be visited."""

    def visit(
        self,
        host: str,
        monkeypatch: pytest.MonkeyPatch,
        *,
        targets: tuple[str, ...] = (),
        names: "dict[str, list[str]] | None" = None,
    ) -> tuple[int, str]:
        """Return how often the server was visited, and the answer or why there is none.

        *names* are what the name server says, the next one at each question.
        """
        system = socket.getaddrinfo

        def look_up(name: Any, port: Any, *arguments: Any, **options: Any) -> Any:
            if names is None or name not in names:
                return system(name, port, *arguments, **options)
            addresses = names[name]
            address = addresses.pop(0) if len(addresses) > 1 else addresses[0]
            return [
                entry
                for part in address.split()
                for entry in system(part, port, type=socket.SOCK_STREAM)
            ]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        visits = 0

        async def talk(visit: Visit) -> None:
            nonlocal visits
            visits += 1
            await visit.answer("inside")

        async def go() -> str:
            outgoing = Outgoing(private_targets=targets)
            async with serving(talk) as port:
                try:
                    request = WebRequest(
                        method="GET", url=f"http://{host}:{port}/", timeout=60, retries=0
                    )
                    return str((await outgoing.send(request)).body)
                except RequestFailed as failed:
                    return str(failed).replace(f":{port}", "")

        answer = asyncio.run(go())
        return visits, answer

    @pytest.mark.parametrize(
        "host",
        [
            "127.0.0.1",
            "localhost",
            "LOCALHOST.",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "017700000001",
            "127.1",
            "127.0.1",
            "0",
            "0.0.0.0",
            "127.0.0.1.",
            "①②⑦.⓪.⓪.①",
            "127。0。0。1",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[0:0:0:0:0:ffff:127.0.0.1]",
            "[::1]",
            "[::]",
            "[fe80::1%25lo]",
        ],
    )
    def test_no_way_to_write_loopback_leads_there(
        self, host: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        visits, answer = self.visit(host, monkeypatch)

        assert visits == 0
        assert answer != "inside"

    def test_it_is_said_why(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.visit("127.0.0.1", monkeypatch)[1] == says(
            "127.0.0.1", "private_targets", "config.toml"
        )

    def test_a_name_that_leads_inside_is_refused_and_not_told_where(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        visits, answer = self.visit(
            "evil.example", monkeypatch, names={"evil.example": ["127.0.0.1"]}
        )

        assert visits == 0
        assert answer.startswith("evil.example leads to a private, local or reserved address")
        assert "127.0.0.1" not in answer

    def test_a_name_that_changes_its_address_gains_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # What is connected to is what was judged: there is no second look-up to lie to.
        names = {"evil.example": ["192.0.2.1", "127.0.0.1"]}

        assert self.visit("evil.example", monkeypatch, names=names)[0] == 0
        assert names == {"evil.example": ["127.0.0.1"]}
        assert self.visit("evil.example", monkeypatch, names=names)[0] == 0

    def test_one_private_address_among_others_is_not_taken(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = {"evil.example": ["127.0.0.1 ::1 0.0.0.0"]}

        assert self.visit("evil.example", monkeypatch, names=names)[0] == 0

    @pytest.mark.parametrize(
        ("host", "targets"),
        [
            ("127.0.0.1", ("127.0.0.1",)),
            ("127.0.0.1", ("127.0.0.0/8",)),
            ("localhost", ("127.0.0.1",)),
            ("localhost", ("localhost",)),
            ("inside.example", ("inside.example",)),
            ("Inside.Example.", ("inside.example",)),
        ],
    )
    def test_what_the_settings_name_is_reached(
        self, host: str, targets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = {"inside.example": ["127.0.0.1"], "inside.example.": ["127.0.0.1"]}

        assert self.visit(host, monkeypatch, targets=targets, names=names) == (1, "inside")

    def test_a_trusted_host_does_not_open_the_door_for_another(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = {"evil.example": ["127.0.0.1"], "inside.example": ["127.0.0.1"]}

        assert (
            self.visit("evil.example", monkeypatch, targets=("inside.example",), names=names)[0]
            == 0
        )

    @pytest.mark.parametrize(
        "address",
        [
            "inside.example@evil.example",
            "inside.example\\@evil.example",
            "evil.example#@inside.example",
        ],
    )
    def test_who_is_trusted_is_who_is_called(
        self, address: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = {"evil.example": ["127.0.0.1"]}

        assert self.visit(address, monkeypatch, targets=("inside.example",), names=names)[0] == 0

    def test_a_name_that_nobody_has_is_said_not_to_be_found(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nobody(*_: object, **__: object) -> None:
            raise socket.gaierror(-2, "secret internals")

        monkeypatch.setattr("scenarioctl.outgoing.client.socket.getaddrinfo", nobody)

        assert self.visit("nobody.example", monkeypatch, names={})[1] == says(
            "nobody.example", "could"
        )


def test_no_connection_made_for_one_host_serves_another() -> None:
    async def go() -> list[str]:
        seen: list[str] = []

        async def talk(visit: Visit) -> None:
            seen.append(visit.header("connection"))
            await visit.answer("x")

        trusting, strict = Outgoing(private_targets=["127.0.0.1"]), Outgoing()
        async with serving(talk) as port:
            request = WebRequest(method="GET", url=f"http://127.0.0.1:{port}/", retries=0)
            assert isinstance(await trusting.send(request), WebAnswer)
            with pytest.raises(RequestFailed):
                await strict.send(request)
        return seen

    assert asyncio.run(go()) == ["close"]
