"""The chains that are built in: the rows of `chains.json`, in its order.  To add one for everybody, add a row there.

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

from pathlib import Path
from typing import Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS, ACCOUNT_ID_32
from scenarioctl.chains.chain import Chain
from scenarioctl.chains.data_files import read_document

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
