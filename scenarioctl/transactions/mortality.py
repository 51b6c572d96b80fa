"""Eras: the blocks during which a signature is valid, mortal or immortal."""

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import from_hex

IMMORTAL = b"\0"


def encode_era(period: int, current: int) -> bytes:
    """Return a mortal era of *period* blocks (a power of two from 4 to 65536) that holds the block
    number *current*."""
    if not (4 <= period <= 65536 and period & (period - 1) == 0):
        raise InvalidRequest(
            field="era",
            value=period,
            problem="is not a period",
            expected="a power of two from 4 to 65536, like 64",
        )
    if not 0 <= current < 2**64:
        raise InvalidRequest(
            field="block", value=current, problem="is not a block number", expected="one from 0"
        )
    quantum = max(period >> 12, 1)
    phase = current % period // quantum
    return ((period.bit_length() - 2) | phase << 4).to_bytes(2, "little")


def decode_era(era: bytes) -> tuple[int, int] | None:
    """Return the period and the phase of a mortal era, None for an immortal one; InvalidRequest if
    it is neither."""
    if era == IMMORTAL:
        return None
    if len(era) == 2 and era[0]:
        encoded = int.from_bytes(era, "little")
        period = 2 << (encoded & 0xF)
        phase = (encoded >> 4) * max(period >> 12, 1)
        if period >= 4 and phase < period:
            return period, phase
    raise InvalidRequest(
        field="era",
        value=era,
        problem="is not an era",
        expected="0x00 for immortal or two bytes like 0x4502",
    )


def era_start(era: bytes, current: int) -> int:
    """Return the number of the block that *era*, used at block *current*, starts from: its hash is
    signed."""
    mortal = decode_era(era)
    if mortal is None:
        return 0
    period, phase = mortal
    return (max(current, phase) - phase) // period * period + phase


def parse_era(value: object, *, field: str) -> bytes:
    """Return the era that `immortal` or 0x hex writes."""
    if value == "immortal":
        return IMMORTAL
    data = from_hex(value) or b""
    try:
        decode_era(data)
    except InvalidRequest:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not an era",
            expected="immortal, 0x00, or two bytes of hex like 0x4502",
        ) from None
    return data
