"""What is known of one chain."""

from dataclasses import dataclass

from scenarioctl.chains.addresses import ACCOUNT_ID_32, AccountFormat

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
