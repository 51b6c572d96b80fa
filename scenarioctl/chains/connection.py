"""The wire: one-shot JSON-RPC to a node, over websocket-client.

`substrateinterface` is not imported for it: the import alone takes 0.2 s.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest, ScenarioctlError
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable, save_cached

#: Seconds for opening an endpoint, and for each answer.
TIMEOUT = 10.0


class Connection:
    """One endpoint of a chain, genesis checked."""

    def __init__(self, chain: Chain, endpoint: str, timeout: float = TIMEOUT) -> None:
        import websocket

        self.chain = chain
        self.endpoint = endpoint
        self._count = 0
        try:
            self._socket = websocket.create_connection(endpoint, timeout=timeout, enable_multithread=False)
        except (OSError, websocket.WebSocketException, ValueError) as error:
            raise ChainUnreachable(f"{endpoint} did not open: {error}") from None
        try:
            self._check_genesis()
        except ScenarioctlError:
            self.close()
            raise

    def _check_genesis(self) -> None:
        if not self.chain.genesis:
            return
        genesis = self.call("chain_getBlockHash", 0)
        if genesis != self.chain.genesis:
            raise ChainUnreachable(
                f"{self.endpoint} serves another chain: genesis {genesis}, not {self.chain.genesis}"
            )

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of one JSON-RPC call."""
        import websocket

        self._count += 1
        request = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": list(params)}
        try:
            self._socket.send(json.dumps(request))
            answer: Any = None
            while not isinstance(answer, dict) or answer.get("id") != self._count:
                answer = json.loads(self._socket.recv())
        except (OSError, websocket.WebSocketException, ValueError) as error:
            raise ChainUnreachable(f"{self.endpoint} did not answer {method}: {error}") from None
        if "error" in answer:
            raise ChainRefused(f"{self.endpoint} refused {method}: {json.dumps(answer['error'])}")
        return answer.get("result")

    def close(self) -> None:
        with suppress(Exception):
            self._socket.close()


def connect(chain: Chain) -> Connection:
    """Return a connection to the first endpoint of *chain* that answers and serves that chain."""
    reasons = []
    for endpoint in chain.endpoints:
        try:
            return Connection(chain, endpoint)
        except (ChainUnreachable, ChainRefused) as error:
            reasons.append(str(error))
    tried = (
        "; ".join(reasons)
        or "it has no endpoints, give some with: scenarioctl config set chains.NAME.endpoints"
    )
    raise ChainUnreachable(
        f"{chain.name} cannot be reached ({tried}); --offline builds with the runtime table at hand"
    )


def fetch_runtime(chain: Chain, known: RuntimeTable | None, cache: Path) -> RuntimeTable:
    """Return the table of the runtime that *chain* has now: *known* where that is it, else read from the node."""
    connection = connect(chain)
    try:
        version = connection.call("state_getRuntimeVersion")
        version = version if isinstance(version, dict) else {}
        runs = (version.get("specName"), version.get("specVersion"))
        # The name too: chains that share a genesis, as forks do, may share a version number.
        if known is not None and (known.spec_name, known.spec_version) == runs:
            return known
        table = read_metadata(_fetch_metadata(connection))
    except (ChainRefused, InvalidRequest) as error:
        raise ChainUnreachable(f"{chain.name} gave no runtime to build with: {error}") from None
    finally:
        connection.close()
    if (table.spec_name, table.spec_version) != runs:
        raise ChainUnreachable(
            f"{chain.name} says that it runs {runs[0]} {runs[1]} and serves the metadata of "
            f"{table.spec_name} {table.spec_version}"
        )
    if chain.genesis:
        save_cached(table, chain.genesis, cache)
    return table


def _fetch_metadata(connection: Connection) -> bytes:
    """Return the newest metadata version that the node and we know."""
    for version in (16, 15):
        with suppress(ChainRefused):
            answer = connection.call("state_call", "Metadata_metadata_at_version", f"0x{version:02x}000000")
            # Option<OpaqueMetadata>: 0x00 says that the runtime does not have this version.
            if isinstance(answer, str) and answer not in {"0x00", "0x"}:
                return bytes.fromhex(answer[2:])
    return bytes.fromhex(str(connection.call("state_getMetadata"))[2:])
