"""Trapped assets: claimed by the account that they were taken from."""

import json
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.submission.arrivals import trap_hash
from tests.blocks import number_of
from tests.conftest import Ended, Run
from tests.messages import says
from tests.network import call_tried
from tests.node import Node, Refusal
from tests.runtimes import bundled
from tests.signing import dev_key
from tests.test_broadcast import ALICE, EVENTS, NUMBER, SUCCESS, TABLE, account, events
from tests.test_check import call_effects
from tests.test_transaction_status import FakeChain

ALICE_KEY = dev_key().public_key
BOB_KEY = dev_key("//Bob").public_key
CHARLIE = "14Gjs1TD93gnwEBfDMHoCgsuf1s2TVKUP6Z1qKmAZnZ8cW5q"
BOB = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
POLKADOT = {"AccountId32": {"network": "Polkadot", "id": ALICE_KEY}}
OF_ALICE = {"parents": 0, "interior": {"X1": [POLKADOT]}}
OF_BOB = {
    "parents": 0,
    "interior": {"X1": [{"AccountId32": {"network": "Polkadot", "id": BOB_KEY}}]},
}
#: In a form in which the runtime doesn't write the origin of a signature.
OF_BOB_WITHOUT_NETWORK = {
    "parents": 0,
    "interior": {"X1": [{"AccountId32": {"network": None, "id": BOB_KEY}}]},
}
OF_HUB = {"parents": 0, "interior": {"X1": [{"Parachain": 1000}]}}
OF_ALICE_ON_HUB = {"parents": 0, "interior": {"X2": [{"Parachain": 1000}, POLKADOT]}}
USDT = {
    "V5": [
        {"id": {"parents": 0, "interior": {"X1": [{"GeneralIndex": 1984}]}}, "fun": {"Fungible": 7}}
    ]
}
DOT = {"V5": [{"id": {"parents": 0, "interior": "Here"}, "fun": {"Fungible": 25 * 10**9}}]}
#: By hand: 25 DOT of Alice as the trap hashes them: her location, then the assets in V5.
OF_ALICE_BYTES = b"\x00\x01\x01\x01\x02" + ALICE_KEY
DOT_BYTES = b"\x05\x04\x00\x00\x00\x07" + (25 * 10**9).to_bytes(5, "little")


#: XcmPallet is pallet 99; what it answers to a claim of what isn't in its trap.
UNKNOWN_CLAIM = {
    "Err": {
        "post_info": {"actual_weight": None, "pays_fee": "Yes"},
        "error": {"Module": {"index": 99, "error": b"\x18\x00\x0e\x00"}},
    }
}


def trapped(origin: Any = OF_ALICE, assets: Any = DOT, *, hash: bytes = b"") -> Any:
    known = hash or trap_hash(TABLE, "XcmPallet", origin, assets)
    return {"XcmPallet": {"AssetsTrapped": {"hash": known, "origin": origin, "assets": assets}}}


def hash_in(event: Any) -> bytes:
    return bytes(event["XcmPallet"]["AssetsTrapped"]["hash"])


class Traps(FakeChain):
    """Blocks with events, and an asset trap."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[int, list[Any]] = {}
        #: What is in the trap now.
        self.counts: dict[bytes, int] = {}
        #: Whether its node runs dry runs.
        self.tries = True
        #: Whether what is claimed goes back into the trap.
        self.traps_again = False

    def trap(self, number: int, *found: Any, count: int = 1) -> None:
        self.found[number] = list(found)
        for event in found:
            self.counts[hash_in(event)] = count

    def storage(self, key: str, block: str = "") -> str | None:
        if key == EVENTS.hex:
            return events(
                (0, SUCCESS), *((1, event) for event in self.found.get(number_of(block), ()))
            )
        for hash, count in self.counts.items():
            if key == storage_key(TABLE, "XcmPallet", "AssetTraps", [hash]).hex:
                return "0x" + count.to_bytes(4, "little").hex() if count else None
        return account(0)

    def runtime_call(self, name: str, data: str, *_: Any) -> str:
        """Try a claim as polkadot's runtime does: it writes the network of an account that
        signs."""
        assert name == "DryRunApi_dry_run_call"
        if not self.tries:
            raise Refusal(-32601, "Method not found")
        arguments = bytes.fromhex(data[2:])
        call = call_tried(TABLE, arguments)
        assert (call.pallet, call.method) == ("XcmPallet", "claim_assets")
        signer = {"AccountId32": {"network": "Polkadot", "id": arguments[2:34]}}
        hash = trap_hash(
            TABLE, "XcmPallet", {"parents": 0, "interior": {"X1": [signer]}}, call.args["assets"]
        )
        claimed = {
            "AssetsClaimed": {"hash": hash, "origin": OF_ALICE, "assets": call.args["assets"]}
        }
        again = (
            ({"XcmPallet": {"AssetsTrapped": claimed["AssetsClaimed"]}},)
            if self.traps_again
            else ()
        )
        effects = call_effects(events=({"XcmPallet": claimed}, *again))
        if not (hash and self.counts.get(hash)):
            effects = call_effects(result=UNKNOWN_CLAIM)
        return (
            "0x"
            + TABLE.encode(TABLE.api_method("DryRunApi", "dry_run_call").output_type, effects).hex()
        )


Ask = Callable[..., Ended]


@pytest.fixture
def chain() -> Traps:
    return Traps()


@pytest.fixture
def ask(scenarioctl: Run, tmp_path: Path, chain: Traps) -> Iterator[Ask]:
    """Run a command of `tx` on polkadot: `ask("claim", "--trapped-in", "7")`."""
    with Node(
        {**chain.answers(), "state_getStorage": chain.storage, "state_call": chain.runtime_call}
    ) as node:
        config = tmp_path / "config.toml"
        config.write_text(f'[chains.polkadot]\nendpoints = ["{node.url}"]\n')

        def run(command: str, *more: str, **how: Any) -> Ended:
            return scenarioctl("--config", str(config), "tx", command, "polkadot", *more, **how)

        yield run


def test_the_hash_is_that_of_the_origin_and_the_assets() -> None:
    expected = blake2b(OF_ALICE_BYTES + DOT_BYTES, digest_size=32).digest()

    assert trap_hash(TABLE, "XcmPallet", OF_ALICE, DOT) == expected
    assert trap_hash(bundled("assetHub"), "PolkadotXcm", OF_ALICE, DOT) == expected


def test_the_hash_follows_the_version_of_the_assets() -> None:
    older = {"V4": DOT["V5"]}
    expected = blake2b(OF_ALICE_BYTES + b"\x04" + DOT_BYTES[1:], digest_size=32).digest()

    assert trap_hash(TABLE, "XcmPallet", OF_ALICE, older) == expected


def claim_data(beneficiary: bytes) -> str:
    """Return a claim by hand: XcmPallet is pallet 99, and claim_assets its call 12."""
    return "0x630c" + (DOT_BYTES + b"\x05\x00\x01\x01\x00" + beneficiary).hex()


def test_a_claim_names_the_assets_as_they_were_trapped(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped())
    where = ("claim", "--trapped-in", str(NUMBER - 2))

    own = json.loads(ask(*where, "--json").out)
    other = ask(*where, "--beneficiary", BOB, "--field", "call_data")

    assert (own["call_data"], own["signer"], own["says"]) == (
        claim_data(ALICE_KEY),
        ALICE,
        says("2.5 DOT", ALICE),
    )
    assert other.out == claim_data(BOB_KEY) + "\n"
    call = bytes.fromhex(own["call_data"][2:])
    assert TABLE.encode_call(TABLE.decode_call(call)) == call


@pytest.mark.parametrize(
    ("found", "more", "words"),
    [
        pytest.param((), (), ("no assets",), id="nothing was trapped"),
        pytest.param((trapped(),), ("--hash", "0x" + "11" * 32), ("0x11",), id="another hash"),
        pytest.param((trapped(),), ("--sender", BOB), ("sender", ALICE), id="another sender"),
        pytest.param((trapped(OF_HUB),), (), ("assetHub",), id="a chain's"),
        pytest.param(
            (trapped(hash=b"\7" * 32),), (), ("2.5 DOT", "unknown"), id="a hash of another version"
        ),
        pytest.param(
            (trapped(OF_ALICE_ON_HUB),), (), ("assetHub",), id="an account of another chain's"
        ),
        pytest.param((trapped(), trapped(OF_BOB)), (), ("hash or sender",), id="several"),
        pytest.param(
            (trapped(), trapped(OF_ALICE, USDT)),
            ("--sender", ALICE),
            ("hash",),
            id="several of the sender",
        ),
        pytest.param(
            (trapped(), trapped(OF_BOB)),
            ("--sender", CHARLIE),
            (ALICE, BOB),
            id="neither is the sender's",
        ),
        pytest.param(
            (trapped(OF_BOB_WITHOUT_NETWORK),),
            (),
            ("LocalExecutionIncomplete",),
            id="an origin that no signer has",
        ),
    ],
)
def test_what_cannot_be_claimed_is_refused_with_the_reason(
    chain: Traps, ask: Ask, found: Any, more: tuple[str, ...], words: tuple[str, ...]
) -> None:
    chain.trap(NUMBER - 2, *found)

    ended = ask("claim", "--trapped-in", str(NUMBER - 2), *more)

    assert (ended.code in (2, 3, 6), ended.out) == (True, "")
    assert ended.err.strip() == says(*words)


def test_what_was_claimed_is_said_to_be_claimed(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped(), count=0)

    refused = ask("claim", "--trapped-in", str(NUMBER - 2))

    assert (refused.code, refused.out, refused.err.strip()) == (2, "", says("it was claimed"))


def test_a_claim_that_takes_another_entry_of_the_trap_is_refused(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 3, trapped(OF_BOB_WITHOUT_NETWORK))
    chain.trap(NUMBER - 2, trapped(OF_BOB))

    refused = ask("claim", "--trapped-in", str(NUMBER - 3))

    assert (refused.out, refused.err.strip()) == ("", says("dry run", "another entry"))


def test_one_of_several_is_claimed_by_its_hash(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped(), trapped(OF_BOB))
    wanted = "0x" + hash_in(trapped(OF_BOB)).hex()

    ended = ask("claim", "--trapped-in", str(NUMBER - 2), "--hash", wanted, "--field", "call_data")

    assert ended.out == claim_data(BOB_KEY) + "\n"


def test_of_several_the_sender_claims_its_own(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped(), trapped(OF_BOB), trapped(OF_HUB))
    where = ("claim", "--trapped-in", str(NUMBER - 2), "--field", "call_data")

    ended = ask(*where, "--sender", BOB)
    named = ask(*where, "--sender", BOB, "--hash", "0x" + hash_in(trapped(OF_BOB)).hex())

    assert ended.out == named.out == claim_data(BOB_KEY) + "\n"
    assert "Several assets" not in named.err
    assert ended.err.removesuffix(named.err).strip() == says("Several assets", "sender", "0x")


def test_a_claim_that_only_traps_them_again_is_refused(chain: Traps, ask: Ask) -> None:
    chain.traps_again = True
    chain.trap(NUMBER - 2, trapped())

    built = ask("claim", "--trapped-in", str(NUMBER - 2), "--field", "call_data")

    assert (built.code, built.out, built.err.strip()) == (6, "", says("Error: ", "again"))


def test_where_no_dry_run_is_possible_a_claim_is_unknown(chain: Traps, ask: Ask) -> None:
    chain.tries = False
    chain.trap(NUMBER - 2, trapped())

    built = ask("claim", "--trapped-in", str(NUMBER - 2), "--field", "call_data")

    assert built.out == claim_data(ALICE_KEY) + "\n"
    assert built.err.splitlines()[0] == says("Warning", "unknown")


@pytest.mark.parametrize(
    "options",
    [
        ("claim", "--trapped-in", "-1"),
        ("claim", "--trapped-in", "7", "--hash", "0x12"),
    ],
    ids=" ".join,
)
def test_bad_input_is_refused_in_one_sentence(ask: Ask, options: tuple[str, ...]) -> None:
    ended = ask(*options)

    assert (ended.code, ended.out, ended.err.strip()) == (
        2,
        "",
        says(options[-2].strip("-").replace("-", "_")),
    )


def test_offline_nothing_is_claimed(ask: Ask) -> None:
    ended = ask("claim", "--trapped-in", "7", "--offline")

    assert (ended.code, ended.out, ended.err.strip()) == (5, "", says("Polkadot", "offline"))
