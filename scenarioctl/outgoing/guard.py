"""Which addresses the requests of a scenario may reach.

A scenario may come from anybody, and this machine stands inside of somebody's network: what is not plainly the public
internet, or is an address of this machine, is refused, but for the hosts and networks of `private_targets`.  The address is judged at the socket that is
about to connect to it, so neither a name that changes its address nor a way to spell one leads past.
"""

import errno
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from scenarioctl.errors import InvalidRequest, shorten

#: RFC 6890 and what came after it, and what clouds answer on: written down here, since Python's own list differs from
#: version to version.
_REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network: Linux takes it for loopback
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; the metadata of a cloud at 100.100.100.200
        "127.0.0.0/8",
        "168.63.129.16/32",  # the metadata of a cloud
        "169.254.0.0/16",  # link-local; the metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
#: All that is given out to the public.  Loopback, link-local, unique-local, site-local and multicast lie outside, and so
#: do NAT64 (64:ff9b::/96, 64:ff9b:1::/48) and IPv4-compatible addresses, behind which an IPv4 address hides.
_PUBLIC_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, ORCHID, benchmarks and other protocols' own
        "2001:db8::/32",
        "2002::/16",  # 6to4 hides an IPv4 address
        "3fff::/20",
    )
)

_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._")


class Guard:
    """Says which addresses may be reached; *private_targets* are hosts and networks of one's own."""

    def __init__(self, private_targets: Sequence[str] = ()) -> None:
        self._hosts: set[str] = set()
        self._networks: list[IPv4Network | IPv6Network] = []
        for target in private_targets:
            self._add(target)

    def _add(self, target: str) -> None:
        text = target.strip().removeprefix("[").removesuffix("]")
        try:
            self._networks.append(ip_network(text, strict=False))
            return
        except ValueError:
            pass
        name = _plain(text)
        if not name or "/" in text or not _HOST_CHARACTERS.issuperset(name):
            raise InvalidRequest(
                f"private_targets {shorten(target)} is not a host or a network, expected one like 10.1.2.0/24 or printer.lan"
            )
        self._hosts.add(name)

    def trusts(self, host: str) -> bool:
        """Return whether *host*, a name as a URL has it, may lead anywhere."""
        return _plain(host) in self._hosts

    def allows(self, address: str) -> bool:
        """Return whether a socket may connect to *address*, as the system writes it."""
        try:
            # A zone says on which of this machine's links an address lies, not which address it is.
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
            # The system connects to the IPv4 address itself.
            found = found.ipv4_mapped
        if any(found in network for network in self._networks):
            return True
        return _is_public(found) and not _is_own(found)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _REFUSED_V4)
    return address in _PUBLIC_V6 and not any(address in network for network in _REFUSED_V6)


def _is_own(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether *address* is one of this machine's: what listens on it may trust this machine."""
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # The system lets nobody bind to an address that is not its own.
            probe.bind((str(address), 0))
    except OSError as error:
        return error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return True


def _plain(host: Any) -> str:
    return str(host).lower().removesuffix(".")
