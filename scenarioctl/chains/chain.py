"""What is known of one chain; and the chains that are built in: the rows of `chains.json`, in its order.

To add one for everybody, add a row there.

Endpoints are from npm @polkadot/apps-config 0.171.1.  Genesis hashes are from npm @subwallet/chain-list 0.2.89, or follow
from the chain specs in npm @polkadot-api/known-chains 0.12.1; where both have a chain they agree.  All were read on READ.
That Acala and Karura may be closing: galacticcouncil/sdk, pull request 257, 2026-01-27.

SS58 prefixes are `System.SS58Prefix` of the runtimes, whatever registries say: Hydration, Bifrost, Bifrost Kusama and Pendulum
changed to Polkadot's, and registries still list their old ones (63, 6, 6, 56).  For Bifrost Kusama, of which no new runtime
was read: bifrost-io/bifrost, pull request 1537, and novasamatech/nova-utils@aedfd3971 (prefix 0, formerly 6).  Addresses
are read with any prefix.

A row has the fields of `Chain` but for its name; `account_bytes` is the length of its accounts if that isn't 32, and `note` is
for readers.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS, ACCOUNT_ID_32, AccountFormat
from scenarioctl.files import read_document

#: The role of Ethereum, which no chain of config.toml can have.
ETHEREUM = "ethereum"
#: What is said where something else is wanted of it.
NOT_ASKED = "Ethereum is a destination only: assets can be sent to it from assetHub and hydraDx, and nothing is read from it"


@dataclass(frozen=True, kw_only=True)
class Chain:
    """One chain: its identity, its endpoints and its native asset."""

    #: The literal: typed, stored and printed.
    name: str
    title: str
    role: str
    #: Literal of the relay chain; a relay names itself, a chain without one has "".
    relay: str
    para_id: int | None = None
    #: Hash of block 0; "" if unknown.
    genesis: str = ""
    #: What its runtime calls itself; "" if that wasn't read, or its table is bundled.
    spec_name: str = ""
    ss58_prefix: int = 42
    account_format: AccountFormat = ACCOUNT_ID_32
    symbol: str
    decimals: int
    endpoints: tuple[str, ...] = ()
    #: Whether its endpoints are the user's own nodes, whose answers need no second endpoint.
    trusted: bool = False
    aliases: tuple[str, ...] = ()
    testnet: bool = False
    #: Why the chain may be closing, as a sentence; empty if nothing says so.
    doubt: str = ""
    #: The network of its relay chain by its name in XCM's `GlobalConsensus`; "" if no bridge is known to lead there.
    #: Written in the row of the relay chain, which hands it to the chains under it.  Ethereum is a network of its own.
    consensus: str = ""

    @property
    def is_network(self) -> bool:
        """Whether it stands for a whole network in XCM: a relay chain, or Ethereum."""
        return self.role in ("relay", ETHEREUM)

    @property
    def is_ethereum(self) -> bool:
        """Whether it is Ethereum, to which assets can be sent and which isn't asked anything."""
        return self.role == ETHEREUM

    @property
    def network(self) -> str:
        """The name of its network for people: `Polkadot`, `Ethereum`."""
        return self.consensus.partition(":")[0]


#: The networks that bridges join, by their names in XCM's `GlobalConsensus`.
NETWORKS = ("Polkadot", "Kusama")


def _read(name: str, row: dict[str, Any]) -> Chain:
    length = row.pop("account_bytes", ACCOUNT_ID_32.length)
    row.pop("note", None)
    lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return Chain(name=name, account_format=ACCOUNT_FORMATS[length], **(row | lists))


_ROWS = read_document(Path(__file__).with_name("chains.json"))
READ = _ROWS.pop("read")
CHAINS = tuple(_read(name, row) for name, row in _ROWS.items())
