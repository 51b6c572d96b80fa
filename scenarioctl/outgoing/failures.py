"""Why an attempt to send a request failed."""


class AttemptFailed(Exception):
    """A try that failed; the sentence is for the log."""

    def __init__(self, sentence: str, *, sent: bool, passing: bool, pause: float | None = None) -> None:
        super().__init__(sentence)
        #: The server may have got the request.
        self.sent = sent
        #: The next try may be better.
        self.passing = passing
        #: What the server asks for.
        self.pause = pause
