"""QR codes for wallets that scan them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segno import QRCode

#: White modules around a code, as the standard requires.
BORDER = 4


def make_codes(frames: Sequence[bytes]) -> "list[QRCode]":
    """Return a QR code for each of *frames*, in byte mode and nothing else: Vault reads raw
    bytes."""
    from segno import make_qr

    return [make_qr(frame, mode="byte", error="m", boost_error=False) for frame in frames]
