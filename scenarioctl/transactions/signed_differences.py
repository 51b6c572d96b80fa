"""What a signer signs beside the call, and what was signed beside the payload that was to be
signed: each difference in words."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.calls import Call
from scenarioctl.transactions.extrinsic import decode_era, decode_extensions
from scenarioctl.transactions.wording.calls import read_payments

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.signatures import PayloadToSign, SignedExtrinsic


from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.signing.payload import SigningOptions

#: Letters of what a batch of many calls does.
_LONGEST = 1000
#: What each signed extension of an extrinsic says, as it is called where two differ.
_PARTS = {
    "CheckMortality": "era",
    "CheckEra": "era",
    "CheckNonce": "nonce",
    "CheckMetadataHash": "metadata hash",
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A part of a signed transaction that is not the payload's."""

    #: `call`, `signer`, `nonce`, `era`, `tip`, `fee asset`, `metadata hash`, or the identifier of
    #: another signed extension.
    part: str
    signed: str
    expected: str

    @property
    def sentence(self) -> str:
        if self.part == "call":
            return f"it {self.signed}, and the payload {self.expected}"
        return f"its {self.part} is {self.signed}, and the payload's is {self.expected}"


def find_differences(
    table: "RuntimeTable",
    chain: "Chain",
    assets: "Assets",
    signed: "SignedExtrinsic",
    expected: "PayloadToSign",
    say_call: Callable[[Call], str],
) -> tuple[Difference, ...]:
    """Return what *signed* has otherwise than *expected*, all that stands in an extrinsic but its
    signature."""
    found = []
    if signed.call_data != expected.call_data:
        told = say_call(signed.call), say_call(table.decode_call(expected.call_data))
        found.append(_difference("call", *told, signed.call_data, expected.call_data))
    if signed.account != expected.account:
        who = (
            shorten(signed.signer, 80)
            if signed.account is None
            else _address(chain, signed.account)
        )
        found.append(
            Difference(part="signer", signed=who, expected=_address(chain, expected.account))
        )
    return (*found, *_differing_extensions(table, chain, assets, signed.extra, expected.extra))


def _differing_extensions(
    table: "RuntimeTable", chain: "Chain", assets: "Assets", signed: bytes, expected: bytes
) -> Iterator[Difference]:
    values, parts, _ = decode_extensions(table, signed)
    expected_values, expected_parts, _ = decode_extensions(table, expected)
    # A tip and what it is paid in stand in one extension.
    paid, to_pay = (
        read_payments(values, chain, assets),
        read_payments(expected_values, chain, assets),
    )
    for identifier, data in parts.items():
        wanted = expected_parts[identifier]
        if data == wanted:
            continue
        if identifier in ("ChargeTransactionPayment", "ChargeAssetTxPayment"):
            words = zip(("tip", "fee asset"), paid, to_pay, ("none", chain.symbol), strict=True)
            differing = [
                (part, has or none, should or none)
                for part, has, should, none in words
                if has != should
            ]
            for part, has, should in differing or [(identifier, _hex(data), _hex(wanted))]:
                yield Difference(part=part, signed=has, expected=should)
        else:
            told = _say(values[identifier], data), _say(expected_values[identifier], wanted)
            yield _difference(_PARTS.get(identifier, identifier), *told, data, wanted)


def _say(value: Any, data: bytes) -> str:
    """Return what a signed extension other than a payment says."""
    if isinstance(value, Mapping) and set(value) == {"nonce"}:
        value = value["nonce"]
    if isinstance(value, Mapping) and "mode" in value:
        return "signed" if value["mode"] == "Enabled" else "not signed"
    if isinstance(value, int):
        return str(value)
    try:
        era = decode_era(data)
    except InvalidRequest:
        return _hex(data)
    return "immortal" if era is None else f"{era[0]} blocks ({_hex(data)})"


def _difference(part: str, signed: str, expected: str, data: bytes, wanted: bytes) -> Difference:
    """Return the difference in words; with the bytes where the words are the same."""
    if signed == expected:
        signed, expected = f"{signed} ({_hex(data)})", f"{expected} ({_hex(wanted)})"
    return Difference(part=part, signed=_clip(signed), expected=_clip(expected))


def _clip(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def _address(chain: "Chain", account: bytes) -> str:
    return format_account(account, chain.ss58_prefix)


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


def say_terms(options: "SigningOptions", payments: tuple[str, ...]) -> str:
    """Return what *options* put under the signature; *payments* says what the signer pays beside
    the plain fee."""
    era = decode_era(options.era)
    valid = (
        "an immortal era"
        if era is None
        else f"an era of {era[0]} blocks from {options.block_number}"
    )
    committed = "the metadata hash" if options.mode else "no metadata hash"
    return (
        "Signed with the call: "
        f"{', '.join((f'nonce {options.nonce}', valid, committed, *payments))}."
    )


def warn_of_terms(
    options: "SigningOptions", chain: "Chain", assets: "Assets", next_nonce: int | None = None
) -> tuple[str, ...]:
    """Return what a signer should know of *options* before signing.

    *next_nonce* is that of the account on *chain*, if the nonce was chosen and the chain can be
    asked.
    """
    found = []
    if options.tip:
        found.append(
            f"the signer pays a tip of {assets.native(chain).amount(options.tip)} in "
            "addition to the fee"
        )
    if next_nonce is not None and options.nonce > next_nonce:
        found.append(
            f"nonce {options.nonce} is not the account's next nonce {next_nonce} on {chain.title}: "
            "the transaction waits until those in between are included"
        )
    elif next_nonce is not None and options.nonce < next_nonce:
        found.append(
            f"nonce {options.nonce} is used already on {chain.title}, where the account's "
            f"next nonce is {next_nonce}: "
            "the transaction will be refused"
        )
    if decode_era(options.era) is None:
        found.append(
            "the signature is immortal: anyone who has it can send it at any time, and "
            "again if the account is ever "
            "emptied and used again; for one that expires, pass era, or offline block and "
            "block_hash"
        )
    if chain.genesis and options.genesis_hash.hex() != chain.genesis.lower().removeprefix("0x"):
        found.append(
            f"genesis 0x{options.genesis_hash.hex()} is not that of {chain.title}: "
            "the signature is good only for the chain that has it"
        )
    return tuple(found)
