"""Notifications: try whether they arrive."""

import asyncio
import time
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, RequestFailed
from scenarioctl.model.notifications import describe_target, new_id, read_targets
from scenarioctl.model.request_fields import Value
from scenarioctl.operations.results import Result

__all__ = ["send_test_notification"]


@dataclass(frozen=True, kw_only=True)
class SendTestNotification:
    """Send a notification now, to see whether it arrives."""

    #: Where to. Default: all targets of the setting `notify`.
    target: Annotated[str, Value("URL")] = ""


class Delivery(TypedDict):
    #: Without what may be secret in its URL.
    target: str
    milliseconds: int
    #: Why it was not delivered; empty if it was.
    error: str


class Deliveries(TypedDict):
    success: Literal[True]
    #: `webhook-id` of all of them.
    id: str
    deliveries: list[Delivery]


async def send_test_notification(
    app: Application, request: SendTestNotification
) -> Result[Deliveries]:
    """Send a notification of the event `test`; if one is not delivered, its error has `deliveries`
    too."""
    targets = (
        read_targets(request.target, field="target") if request.target else app.settings.notify
    )
    if not targets:
        raise InvalidRequest(
            field="notify",
            problem="is not set in config.toml",
            expected="a target to send the test to",
        )
    id = new_id()
    deliveries = await asyncio.gather(*(_deliver(app, each, id) for each in targets))
    failed = [each for each in deliveries if each["error"]]
    if failed:
        reasons = "; ".join(f"{each['target']}: {each['error']}" for each in failed)
        raise RequestFailed(
            f"{len(failed)} of {len(deliveries)} notifications not delivered: {reasons}",
            details={"deliveries": deliveries},
        )
    notes = () if app.settings.notify_secret else ("Not signed: notify_secret is not set.",)
    return Result(answer={"success": True, "id": id, "deliveries": list(deliveries)}, notes=notes)


async def _deliver(app: Application, target: str, id: str) -> Delivery:
    from scenarioctl.outgoing.notifications import TEST, NotificationText, build_request

    now = app.clock()
    request = build_request(
        NotificationText(id=id, event=TEST, created=now, link=app.settings.public_url),
        url=target,
        secret=app.settings.notify_secret,
        now=now,
    )
    started = time.monotonic()
    error = ""
    try:
        await app.notifying.send(request, sleep=app.sleep)
    except RequestFailed as failed:
        error = str(failed)
    return {
        "target": describe_target(target),
        "milliseconds": round((time.monotonic() - started) * 1000),
        "error": error,
    }
