"""The calls that give rights away: somebody else may spend, act, recover, unlock or take over something from now on.

To add one, add a row to RIGHTS.  Words and checks read it; `wording/sentences.py` says what the parts of a sentence are.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Right:
    """What one call gives."""

    #: Who may do what, for how much and until when.
    words: str
    #: The arguments that name whom it is given to; none if the call names no account.
    to: tuple[str, ...] = ()


def _right(words: str, *to: str) -> Right:
    return Right(words=words, to=to)


_TEAM = ("issuer", "admin", "freezer")
_MANAGES = "makes {account:%s} the owner of %s, who may change and take it over"


def _assets(pallet: str, amount: str) -> dict[tuple[str, str], Right]:
    """Return the rows of a pallet of assets."""
    asset = "asset {plain:id}" if pallet == "PoolAssets" else "{asset:id}"
    rows = {
        "approve_transfer": _right(
            f"lets {{account:delegate}} transfer up to {amount} of the signer to anyone from now on",
            "delegate",
        ),
        "create": _right(f"creates {asset}, which {{account:admin}} can mint and freeze", "admin"),
        "force_create": _right(f"creates {asset}, which {{account:owner}} owns", "owner"),
        "transfer_ownership": _right(_MANAGES % ("owner", asset), "owner"),
        "set_team": _right(
            f"lets {{account:issuer}} mint, {{account:admin}} burn and {{account:freezer}} freeze {asset} of anyone",
            *_TEAM,
        ),
    }
    return {(pallet, method): right for method, right in rows.items()}


def _items(pallet: str) -> dict[tuple[str, str], Right]:
    """Return the rows of a pallet of collections."""
    collection = "collection {plain:collection}"
    item = f"item {{plain:item}} of {collection}"
    until = "<maybe_deadline?for {blocks:maybe_deadline}|from now on>" if pallet == "Nfts" else "from now on"
    team = (
        "{set:issuer,admin,freezer}"
        if pallet == "Nfts"
        else "{account:issuer} and {account:admin} and {account:freezer}"
    )
    rows = {
        "approve_transfer": _right(f"lets {{account:delegate}} transfer {item} {until}", "delegate"),
        "create": _right("creates a collection that {account:admin} administers", "admin"),
        "force_create": _right("creates a collection that {account:owner} owns", "owner"),
        "set_team": _right(f"lets {team} issue, administer and freeze items of {collection}", *_TEAM),
        "transfer_ownership": _right(_MANAGES % ("new_owner", collection), "new_owner"),
        "set_price": _right(
            f"lets <whitelisted_buyer?{{account:whitelisted_buyer}}|anyone> buy {item} for {{native:price}}",
            "price",
        ),
    }
    return {(pallet, method): right for method, right in rows.items()}


_DELEGATE = (
    "lets {account:to} vote with {native:balance} of the signer, locked by the conviction {plain:conviction},"
)
_ALIAS = "lets {receiver:aliaser} act as this account with XCM programs <expires?until block {plain:expires}|from now on>"
_RUNTIME = "replaces the runtime by which all accounts live"
_KEYS = (
    "lets the holder of the session keys {hex:keys} produce blocks for the signer, who is liable for them,"
)
_CURATOR = "lets {account:curator} award"
#: (pallet, method) -> what it gives.
RIGHTS: Mapping[tuple[str, str], Right] = {
    ("Proxy", "add_proxy"): _right(
        "lets {account:delegate} {power:proxy_type} from now on<delay+, {blocks:delay} after announcing each call>",
        "delegate",
    ),
    ("Proxy", "kill_pure"): _right("gives up the signer's own pure account for good, with all that it holds"),
    ("Recovery", "create_recovery"): _right(
        "lets {plain:threshold} of {accounts:friends} recover this account {plain:delay_period} blocks after they start",
        "friends",
    ),
    ("Recovery", "vouch_recovery"): _right(
        "vouches that {account:rescuer} may take over the account {account:lost}", "rescuer"
    ),
    ("Recovery", "set_recovered"): _right(
        "lets {account:rescuer} do anything with the account {account:lost} from now on", "rescuer"
    ),
    ("Staking", "bond"): _right("pays the staking rewards of this account to {payee:payee}", "payee"),
    ("Staking", "set_payee"): _right("pays the staking rewards of this account to {payee:payee}", "payee"),
    ("Staking", "update_payee"): _right(
        "pays the staking rewards of its stash to the controller {account:controller}", "controller"
    ),
    ("Session", "set_keys"): _right(f"{_KEYS} from now on"),
    ("StakingRcClient", "set_keys"): _right(f"{_KEYS} from now on"),
    **_assets("Assets", "{amount:amount,id}"),
    **_assets("ForeignAssets", "{amount:amount,id}"),
    **_assets("PoolAssets", "{pooled:amount,id}"),
    **_items("Uniques"),
    **_items("Nfts"),
    ("Nfts", "approve_item_attributes"): _right(
        "lets {account:delegate} set attributes of item {plain:item} of collection {plain:collection}",
        "delegate",
    ),
    ("Nfts", "create_swap"): _right(
        "lets anyone take item {plain:offered_item} of collection {plain:offered_collection} for an item of collection {plain:desired_collection}, for {plain:duration} blocks"
    ),
    ("Nfts", "force_collection_owner"): _right(
        _MANAGES % ("owner", "collection {plain:collection}"), "owner"
    ),
    ("NftFractionalization", "fractionalize"): _right(
        "locks item {plain:nft_id} of collection {plain:nft_collection_id} for whoever holds all {plain:fractions} fractions, which {account:beneficiary} gets",
        "beneficiary",
    ),
    ("Identity", "add_sub"): _right("lets {account:sub} appear as a part of the signer's identity", "sub"),
    ("Identity", "set_subs"): _right("lets {subs:subs} appear as parts of the signer's identity", "subs"),
    ("Identity", "add_username_authority"): _right("lets {account:authority} give usernames", "authority"),
    ("Indices", "transfer"): _right("gives the index {plain:index} to {account:new}", "new"),
    ("Indices", "force_transfer"): _right("gives the index {plain:index} to {account:new}", "new"),
    ("ConvictionVoting", "delegate"): _right(f"{_DELEGATE} on the track {{plain:class}}", "to"),
    ("Democracy", "delegate"): _right(f"{_DELEGATE} in referenda", "to"),
    ("XcmPallet", "add_authorized_alias"): _right(_ALIAS),
    ("PolkadotXcm", "add_authorized_alias"): _right(_ALIAS),
    ("NominationPools", "create"): _right(
        "pools {native:amount}; lets {account:root} rule, {account:nominator} nominate for and {account:bouncer} block the pool",
        *("root", "nominator", "bouncer"),
    ),
    ("NominationPools", "create_with_pool_id"): _right(
        "pools {native:amount}; lets {account:root} rule, {account:nominator} nominate for and {account:bouncer} block the pool",
        *("root", "nominator", "bouncer"),
    ),
    ("NominationPools", "update_roles"): _right(
        "lets {set:new_root,new_nominator,new_bouncer} rule, nominate for or block the pool {plain:pool_id}",
        *("new_root", "new_nominator", "new_bouncer"),
    ),
    ("NominationPools", "set_commission"): _right(
        "pays the commission of the pool {plain:pool_id} to {set:new_commission}", "new_commission"
    ),
    ("NominationPools", "set_commission_claim_permission"): _right(
        "lets {set:permission} claim the commission of the pool {plain:pool_id}", "permission"
    ),
    ("Bounties", "propose_curator"): _right(f"{_CURATOR} the bounty {{plain:bounty_id}}", "curator"),
    ("ChildBounties", "propose_curator"): _right(
        f"{_CURATOR} the child bounty {{plain:child_bounty_id}}", "curator"
    ),
    ("Bounties", "award_bounty"): _right(
        "lets {account:beneficiary} claim the bounty {plain:bounty_id}", "beneficiary"
    ),
    ("ChildBounties", "award_child_bounty"): _right(
        "lets {account:beneficiary} claim the child bounty {plain:child_bounty_id}", "beneficiary"
    ),
    ("EVMAccounts", "approve_contract"): _right(
        "lets the contract {hex:address} transfer the tokens of any account from now on"
    ),
    ("EVMAccounts", "add_contract_deployer"): _right("lets {hex:address} deploy contracts from now on"),
    ("Liquidation", "set_borrowing_contract"): _right(
        "lets the contract {hex:contract} borrow for the chain"
    ),
    ("GigaHdx", "set_pool_contract"): _right("lets the contract {hex:contract} hold what is staked"),
    ("HSM", "set_flash_minter"): _right("lets the contract {hex:flash_minter_addr} mint"),
    ("Dispatcher", "note_aave_manager"): _right("lets {account:account} manage the money market", "account"),
    ("EmaOracle", "add_authorized_account"): _right("lets {account:account} report prices", "account"),
    ("LBP", "create_pool"): _right(
        "pools {amount:asset_a_amount,asset_a} and {amount:asset_b_amount,asset_b}; lets {account:pool_owner} manage the pool, with fees to {account:fee_collector}",
        *("pool_owner", "fee_collector"),
    ),
    ("LBP", "update_pool_data"): _right(
        "lets {set:pool_owner,fee_collector} manage or collect the fees of the pool {account:pool_id}",
        *("pool_owner", "fee_collector"),
    ),
    ("OmnipoolLiquidityMining", "create_global_farm"): _right(
        "pays {amount:total_rewards,reward_currency} into a farm that {account:owner} owns", "owner"
    ),
    ("XYKLiquidityMining", "create_global_farm"): _right(
        "pays {amount:total_rewards,reward_currency} into a farm that {account:owner} owns", "owner"
    ),
    ("Omnipool", "add_token"): _right(
        "adds {asset:asset} to the Omnipool, as a position of {account:position_owner}", "position_owner"
    ),
    ("Sudo", "set_key"): _right("lets {account:new} do anything with any account from now on", "new"),
    ("System", "set_code"): _right(_RUNTIME),
    ("System", "set_code_without_checks"): _right(_RUNTIME),
    ("System", "apply_authorized_upgrade"): _right(_RUNTIME),
    ("System", "authorize_upgrade"): _right("lets anyone put the runtime {hex:code_hash} in force"),
    ("System", "authorize_upgrade_without_checks"): _right(
        "lets anyone put the runtime {hex:code_hash} in force"
    ),
    ("System", "set_storage"): _right("overwrites {count:items} values of any account or pallet"),
    ("System", "kill_storage"): _right("deletes {count:keys} values of any account or pallet"),
    ("System", "kill_prefix"): _right("deletes all values of any account or pallet under {hex:prefix}"),
    ("Registrar", "schedule_code_upgrade"): _right("replaces the runtime of the parachain {plain:para}"),
    ("Registrar", "set_current_head"): _right("replaces the head of the parachain {plain:para}"),
    ("Revive", "set_code"): _right("replaces the code of the contract {hex:dest} by {hex:code_hash}"),
}
