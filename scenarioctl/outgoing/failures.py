"""Why an attempt to send a request failed."""


class AttemptFailed(Exception):
    """A failed try. The sentence goes into the log of the job."""

    def __init__(self, sentence: str, *, sent: bool, passing: bool, pause: float | None = None) -> None:
        super().__init__(sentence)
        #: The server may have received the request.
        self.sent = sent
        #: The failure may be temporary.
        self.passing = passing
        #: Seconds of the server's `Retry-After`.
        self.pause = pause
