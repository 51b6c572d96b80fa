"""What can go wrong with a node."""

from scenarioctl.errors import ChainRefused, ChainUnreachable


class SocketFailed(Exception):
    """A WebSocket that did not open, broke or was closed; its text is the reason, for a sentence of
    the connection."""


class NodeTimeout(ChainUnreachable):
    """The node did not answer in time."""


class PoolClosed(ChainUnreachable):
    """The connections of the chain are being closed."""


class NodeError(ChainRefused):
    """A JSON-RPC error, as the node worded it."""

    def __init__(self, endpoint: str, method: str, error: object) -> None:
        body = error if isinstance(error, dict) else {"message": error}
        self.number = body.get("code")
        self.message = str(body.get("message", ""))
        #: What the node adds, often the part that explains.
        self.data = body.get("data")
        detail = (
            f"{self.message}: {self.data}"
            if isinstance(self.data, str) and self.data
            else self.message
        )
        super().__init__(f"{endpoint} refused {method}: {detail[:400]} ({self.number})")
