"""Trapped assets: found in events, confirmed by the state, and claimed by the account that they
were taken from."""

import json
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.operations import asset_traps
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
    """Run a command of `xcm` on polkadot: `ask("trapped", "--block", "7")`."""
    with Node(
        {**chain.answers(), "state_getStorage": chain.storage, "state_call": chain.runtime_call}
    ) as node:
        config = tmp_path / "config.toml"
        config.write_text(f'[chains.polkadot]\nendpoints = ["{node.url}"]\n')

        def run(command: str, *more: str, **how: Any) -> Ended:
            return scenarioctl("--config", str(config), "xcm", command, "polkadot", *more, **how)

        yield run


def rows(ended: Ended) -> list[Any]:
    assert ended.code == 0, ended.err
    return list(json.loads(ended.out)["traps"])


def test_the_hash_is_that_of_the_origin_and_the_assets() -> None:
    expected = blake2b(OF_ALICE_BYTES + DOT_BYTES, digest_size=32).digest()

    assert trap_hash(TABLE, "XcmPallet", OF_ALICE, DOT) == expected
    assert trap_hash(bundled("assetHub"), "PolkadotXcm", OF_ALICE, DOT) == expected


def test_the_hash_follows_the_version_of_the_assets() -> None:
    older = {"V4": DOT["V5"]}
    expected = blake2b(OF_ALICE_BYTES + b"\x04" + DOT_BYTES[1:], digest_size=32).digest()

    assert trap_hash(TABLE, "XcmPallet", OF_ALICE, older) == expected


def test_trapped_assets_are_listed_with_who_can_claim_them(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 3, trapped())
    chain.trap(NUMBER - 2, trapped(OF_BOB), trapped(OF_HUB))
    chain.trap(NUMBER - 1, trapped(OF_ALICE_ON_HUB))

    answer = rows(ask("trapped", "--json"))

    assert [(each["block_number"], each["count"], each["claimable"]) for each in answer] == [
        (NUMBER - 3, 1, True),
        (NUMBER - 2, 1, True),
        (NUMBER - 2, 1, False),
        (NUMBER - 1, 1, False),
    ]
    assert {each["assets"] for each in answer} == {"2.5 DOT"}
    who = (
        f"{ALICE} can claim it there with scenarioctl xcm claim",
        BOB,
        "Polkadot Asset Hub itself",
        "from Polkadot Asset Hub",
    )
    for each, words in zip(answer, who, strict=True):
        assert each["summary"] == says("2.5 DOT", words)


def test_an_address_finds_only_its_own(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped(), trapped(OF_BOB), trapped(OF_HUB), trapped(OF_ALICE_ON_HUB))

    answer = rows(ask("trapped", "--address", ALICE, "--json"))

    assert [each["hash"] for each in answer] == [
        "0x" + hash_in(trapped(origin)).hex() for origin in (OF_ALICE, OF_ALICE_ON_HUB)
    ]


def test_only_the_blocks_that_are_named_are_searched(chain: Traps, ask: Ask) -> None:
    for number in range(NUMBER - 5, NUMBER):
        chain.trap(number, trapped())

    one = json.loads(ask("trapped", "--block", str(NUMBER - 4), "--json").out)
    two = json.loads(ask("trapped", "--block", str(NUMBER - 4), "--blocks", "2", "--json").out)

    assert [each["block_number"] for each in one["traps"]] == [NUMBER - 4]
    assert (two["first_block"], two["last_block"]) == (NUMBER - 5, NUMBER - 4)
    assert [each["block_number"] for each in two["traps"]] == [NUMBER - 5, NUMBER - 4]


def test_what_was_claimed_is_said_to_be_claimed(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped(), count=0)

    listed = rows(ask("trapped", "--json"))
    refused = ask("claim", "--trapped-in", str(NUMBER - 2))

    assert [(each["count"], each["claimable"]) for each in listed] == [(0, False)]
    assert (refused.code, refused.out) == (2, "")
    assert listed[0]["summary"] in refused.err


def test_a_hash_that_does_not_follow_from_its_assets_is_unknown(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped(hash=b"\7" * 32))

    (row,) = rows(ask("trapped", "--json"))
    refused = ask("claim", "--trapped-in", str(NUMBER - 2))

    assert (row["count"], row["claimable"], row["summary"]) == (
        1,
        False,
        says("2.5 DOT", "unknown"),
    )
    assert (refused.code, refused.out) == (2, "")


def claim_data(beneficiary: bytes) -> str:
    """Return a claim by hand: XcmPallet is pallet 99, and claim_assets its call 12."""
    return "0x630c" + (DOT_BYTES + b"\x05\x00\x01\x01\x00" + beneficiary).hex()


def test_a_claim_names_the_assets_as_they_were_trapped(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped())
    where = ("claim", "--trapped-in", str(NUMBER - 2), "--output-format", "call")

    own = json.loads(ask(*where, "--json").out)
    other = ask(*where, "--beneficiary", BOB)

    assert (own["tx"], own["signer"], own["says"]) == (
        claim_data(ALICE_KEY),
        ALICE,
        says("2.5 DOT", ALICE),
    )
    assert other.out == claim_data(BOB_KEY) + "\n"
    assert TABLE.encode_call(TABLE.decode_call(bytes.fromhex(own["tx"][2:]))).hex() == own["tx"][2:]


@pytest.mark.parametrize(
    ("found", "more", "words"),
    [
        pytest.param((), (), ("no assets",), id="nothing was trapped"),
        pytest.param((trapped(),), ("--hash", "0x" + "11" * 32), ("0x11",), id="another hash"),
        pytest.param((trapped(),), ("--sender", BOB), ("sender", ALICE), id="another sender"),
        pytest.param((trapped(OF_HUB),), (), ("assetHub",), id="a chain's"),
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


def test_one_of_several_is_claimed_by_its_hash(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped(), trapped(OF_BOB))
    wanted = "0x" + hash_in(trapped(OF_BOB)).hex()

    ended = ask(
        "claim", "--trapped-in", str(NUMBER - 2), "--hash", wanted, "--output-format", "call"
    )

    assert ended.out == claim_data(BOB_KEY) + "\n"


def test_of_several_the_sender_claims_its_own(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 2, trapped(), trapped(OF_BOB), trapped(OF_HUB))
    where = ("claim", "--trapped-in", str(NUMBER - 2), "--output-format", "call")

    ended = ask(*where, "--sender", BOB)
    named = ask(*where, "--sender", BOB, "--hash", "0x" + hash_in(trapped(OF_BOB)).hex())

    assert ended.out == named.out == claim_data(BOB_KEY) + "\n"
    assert "Several assets" not in named.err
    assert ended.err.removesuffix(named.err).strip() == says("Several assets", "sender", "0x")


def test_only_a_claim_that_a_dry_run_proves_is_called_claimable(chain: Traps, ask: Ask) -> None:
    chain.trap(NUMBER - 3, trapped(OF_BOB_WITHOUT_NETWORK))
    chain.trap(NUMBER - 2, trapped(OF_BOB))

    both = rows(ask("trapped", "--address", BOB, "--json"))
    del chain.found[NUMBER - 2], chain.counts[hash_in(trapped(OF_BOB))]
    (alone,) = rows(ask("trapped", "--address", BOB, "--json"))

    assert [each["claimable"] for each in (*both, alone)] == [False, True, False]
    assert both[0]["summary"] == says("2.5 DOT", BOB, "fails in a dry run", "another entry")
    assert alone["summary"] == says(
        "2.5 DOT", BOB, "fails in a dry run", "LocalExecutionIncomplete"
    )


def test_a_claim_that_only_traps_them_again_is_refused(chain: Traps, ask: Ask) -> None:
    chain.traps_again = True
    chain.trap(NUMBER - 2, trapped())

    (row,) = rows(ask("trapped", "--json"))
    built = ask("claim", "--trapped-in", str(NUMBER - 2), "--output-format", "call")

    assert (row["claimable"], row["summary"]) == (False, says(ALICE, "again"))
    assert (built.code, built.out, built.err.strip()) == (6, "", says("Error: ", "again"))


def test_where_no_dry_run_is_possible_a_claim_is_unknown(chain: Traps, ask: Ask) -> None:
    chain.tries = False
    chain.trap(NUMBER - 2, trapped())

    (row,) = rows(ask("trapped", "--json"))
    built = ask("claim", "--trapped-in", str(NUMBER - 2), "--output-format", "call")

    assert (row["claimable"], row["summary"]) == (False, says(ALICE, "not proven"))
    assert built.out == claim_data(ALICE_KEY) + "\n"
    assert built.err.splitlines()[0] == says("Warning", "unknown")


def test_a_list_tries_only_so_many_claims(
    chain: Traps, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asset_traps, "MOST_TRIED", 1)
    chain.trap(NUMBER - 2, trapped(), trapped(), trapped(OF_BOB))

    answer = rows(ask("trapped", "--json"))

    assert [each["claimable"] for each in answer] == [True, True, False]
    assert answer[2]["summary"] == says("not tried", "fewer blocks")


@pytest.mark.parametrize(
    "options",
    [
        ("trapped", "--blocks", "0"),
        ("trapped", "--blocks", "1001"),
        ("trapped", "--block", "x"),
        ("trapped", "--address", "5abc"),
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


def test_offline_nothing_is_searched(ask: Ask) -> None:
    ended = ask("trapped", "--offline")

    assert (ended.code, ended.out, ended.err.strip()) == (5, "", says("Polkadot", "offline"))
