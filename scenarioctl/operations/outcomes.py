"""The one table of what an error's code means to a shell and to an HTTP client."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A code's exit status and HTTP status."""

    exit: int
    status: int


#: Exit status of `job status` if the job's last run failed; the question itself was answered, over
#: HTTP with 200.
LAST_RUN_FAILED = 7

OUTCOMES = {
    "bug": Outcome(exit=1, status=500),
    "bad_json": Outcome(exit=2, status=400),
    "invalid_request": Outcome(exit=2, status=422),
    "too_large": Outcome(exit=2, status=413),
    "unauthorized": Outcome(exit=2, status=401),
    "forbidden": Outcome(exit=2, status=403),
    "unsupported_type": Outcome(exit=2, status=415),
    "bad_request": Outcome(exit=2, status=400),
    "method_not_allowed": Outcome(exit=2, status=405),
    "too_slow": Outcome(exit=2, status=408),
    "rate_limited": Outcome(exit=2, status=429),
    "not_found": Outcome(exit=3, status=404),
    "stale_cursor": Outcome(exit=3, status=410),
    "conflict": Outcome(exit=4, status=409),
    "store_busy": Outcome(exit=4, status=503),
    "store_failed": Outcome(exit=2, status=503),
    "store_unavailable": Outcome(exit=5, status=503),
    "chain_unreachable": Outcome(exit=5, status=503),
    "not_ready": Outcome(exit=5, status=503),
    "daemon_unreachable": Outcome(exit=5, status=503),
    "timed_out": Outcome(exit=5, status=504),
    "request_failed": Outcome(exit=5, status=502),
    "chain_refused": Outcome(exit=6, status=502),
    "warned": Outcome(exit=7, status=422),
}
