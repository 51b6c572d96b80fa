"""Which addresses the requests of a scenario, and notifications, may reach.

Anyone may have written a scenario, and this machine may be inside a private network. Only addresses
of the public internet are allowed, except for the hosts and networks in `private_targets`. An
address of this machine is refused too. The check happens when the socket connects, so DNS rebinding
and unusual spellings of an address don't bypass it.
"""

import errno
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from scenarioctl.errors import InvalidRequest

#: RFC 6890, later registrations, and metadata services of clouds. Python's own list differs between
#: versions.
_REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network; Linux treats it as loopback
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; metadata service of a cloud at 100.100.100.200
        "127.0.0.0/8",
        "168.63.129.16/32",  # metadata service of a cloud
        "169.254.0.0/16",  # link-local; metadata service of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
#: All global unicast addresses. It excludes loopback, link-local, unique-local, site-local and
#: multicast. It also excludes NAT64 (64:ff9b::/96, 64:ff9b:1::/48) and IPv4-compatible addresses,
#: which contain an IPv4 address.
_PUBLIC_V6 = IPv6Network("2000::/3")
#: Less Teredo, ORCHID and other protocols, documentation, and 6to4, which contains an IPv4 address.
_REFUSED_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))

_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._")


class Guard:
    """Decides which addresses are allowed; *private_targets* are private hosts and networks that
    the operator allows."""

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
                field="private_targets",
                value=target,
                problem="is not a host or a network",
                expected="one like 10.1.2.0/24 or printer.lan",
            )
        self._hosts.add(name)

    def trusts(self, host: str) -> bool:
        """Tell whether *host*, as a URL spells it, may resolve to any address."""
        return _plain(host) in self._hosts

    def allows(self, address: str) -> bool:
        """Tell whether a socket may connect to *address*, as the system writes it."""
        try:
            # Ignore the zone: it names an interface and is not part of the address.
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
            # The system connects to the IPv4 address itself.
            found = found.ipv4_mapped
        if any(found in network for network in self._networks):
            return True
        is_public = found in _PUBLIC_V6 or isinstance(found, IPv4Address)
        networks: list[IPv4Network | IPv6Network] = [*_REFUSED_V4, *_REFUSED_V6]
        refused = any(found in network for network in networks)
        return is_public and not refused and not _is_own(found)


def _is_own(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether *address* belongs to this machine, whose services may trust local
    connections."""
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # bind() fails for an address that isn't local.
            probe.bind((str(address), 0))
    except OSError as error:
        return error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return True


def _plain(host: Any) -> str:
    return str(host).lower().removesuffix(".")
