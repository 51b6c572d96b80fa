"""Text written into a chain's history."""

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.drafts import Draft

#: More than a block's length limit lets through on any chain.
MAX_BYTES = 3 * 1024 * 1024


def build_remark(text: str | bytes, *, plain: bool = False) -> Draft:
    """Return the call that records *text*: with an event that others can find, or *plain*, without."""
    try:
        data = text.encode("utf-8") if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError:
        raise InvalidRequest(
            field="remark",
            value=text,
            problem="contains half a character (a lone surrogate)",
            expected="text",
        ) from None
    if not data:
        raise InvalidRequest(field="remark", problem="is empty", expected="a text")
    if len(data) > MAX_BYTES:
        raise InvalidRequest(
            field="remark", problem=f"is {len(data)} bytes long", expected=f"at most {MAX_BYTES}"
        )
    return Draft(
        call=Call(pallet="System", method="remark" if plain else "remark_with_event", args={"remark": data})
    )
