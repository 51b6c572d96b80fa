"""The calls that give rights away: somebody else may spend, act, recover, unlock or take over something from now on.

To add one, add a row to RIGHTS: who may do what, for how much and until when.  Words and checks read it;
`wording/sentences.py` says what the parts of a sentence are.  The fields in parts of GIVEN_TO name whom the right is given
to; a row without any gives it to everybody, or to nobody who is known.
"""

from collections.abc import Mapping

from scenarioctl.transactions.inner_calls import expand_calls

GIVEN_TO = ("account", "accounts", "payee", "set", "subs")
_COLLECTION = "collection {plain:collection}"
_ITEM = f"item {{plain:item}} of {_COLLECTION}"
_KEYS = "lets the holder of the session keys {hex:keys} produce blocks for the signer, who is liable for them, from now on"
_VOTES = (
    "lets {account:to} vote with {native:balance} of the signer, locked by the conviction {plain:conviction},"
)
_FARM = "pays {amount:total_rewards,reward_currency} into a farm that {account:owner} owns"
_POOL = "pools {native:amount}; lets {account:root} rule, {account:nominator} nominate for and {account:bouncer} block the pool"
_ROLES = "lets {set:new_root,new_nominator,new_bouncer} rule, nominate for or block the pool {plain:pool_id}"


def _owned(owner: str, what: str) -> str:
    return f"makes {{account:{owner}}} the owner of {what}, who may change and take it over"


def _assets(pallets: str, amount: str, asset: str) -> dict[str, str]:
    """Return the rows of pallets of assets."""
    return {
        f"{pallets}.approve_transfer": f"lets {{account:delegate}} transfer up to {amount} of the signer to anyone from now on, beside what it already may",
        f"{pallets}.create": f"creates {asset}, which {{account:admin}} can mint and freeze",
        f"{pallets}.force_create": f"creates {asset}, which {{account:owner}} owns",
        f"{pallets}.transfer_ownership": _owned("owner", asset),
        f"{pallets}.set_team": f"lets {{account:issuer}} mint, {{account:admin}} burn and {{account:freezer}} freeze {asset} of anyone",
    }


_ROWS: Mapping[str, str] = {
    "Proxy.add_proxy": "lets {account:delegate} {power:proxy_type} from now on<delay+, {blocks:delay} after announcing each call>",
    "Proxy.announce": "announces, as a proxy of {whose:real}, {hash:call_hash}, which anyone may run after the delay",
    "Proxy.kill_pure": "gives up the signer's own pure account for good, with all that it holds",
    "Recovery.create_recovery": "lets {plain:threshold} of {accounts:friends} recover this account {blocks:delay_period} after they start",
    "Recovery.vouch_recovery": "vouches that {account:rescuer} may take over the account {whose:lost}",
    "Recovery.set_recovered": "lets {account:rescuer} do anything with the account {whose:lost} from now on",
    "Staking.bond|set_payee": "pays the staking rewards of this account to {payee:payee}",
    "Staking.update_payee": "pays the staking rewards of its stash to the controller {account:controller}",
    "Session|StakingRcClient.set_keys": _KEYS,
    **_assets("Assets|ForeignAssets", "{amount:amount,id}", "{asset:id}"),
    **_assets("PoolAssets", "{pooled:amount,id}", "asset {plain:id}"),
    "Uniques|Nfts.transfer": f"gives {_ITEM} to {{account:dest}}",
    "Uniques.approve_transfer": f"lets {{account:delegate}} transfer {_ITEM} from now on",
    "Nfts.approve_transfer": f"lets {{account:delegate}} transfer {_ITEM} <maybe_deadline?for {{blocks:maybe_deadline}}|from now on>",
    "Uniques|Nfts.create": "creates a collection that {account:admin} administers",
    "Uniques|Nfts.force_create": "creates a collection that {account:owner} owns",
    "Uniques.set_team": f"lets {{account:issuer}} and {{account:admin}} and {{account:freezer}} issue, administer and freeze items of {_COLLECTION}",
    "Nfts.set_team": f"lets {{set:issuer,admin,freezer}} issue, administer and freeze items of {_COLLECTION}",
    "Uniques|Nfts.transfer_ownership": _owned("new_owner", _COLLECTION),
    "Uniques|Nfts.set_price": f"lets <whitelisted_buyer?{{account:whitelisted_buyer}}|anyone> buy {_ITEM} for {{native:price}}",
    "Nfts.approve_item_attributes": f"lets {{account:delegate}} set attributes of {_ITEM}",
    "Nfts.create_swap": "lets anyone take item {plain:offered_item} of collection {plain:offered_collection} for an item of collection {plain:desired_collection}, for {blocks:duration}",
    "Nfts.force_collection_owner": _owned("owner", _COLLECTION),
    "NftFractionalization.fractionalize": "locks item {plain:nft_id} of collection {plain:nft_collection_id} for whoever holds all {plain:fractions} fractions, which {account:beneficiary} gets",
    "Identity.add_sub": "lets {account:sub} appear as a part of the signer's identity",
    "Identity.set_subs": "lets {subs:subs} appear as parts of the signer's identity",
    "Identity.add_username_authority": "lets {account:authority} give usernames",
    "Indices.transfer|force_transfer": "gives the index {plain:index} to {account:new}",
    "ConvictionVoting.delegate": f"{_VOTES} on the track {{plain:class}}",
    "Democracy.delegate": f"{_VOTES} in referenda",
    "XcmPallet|PolkadotXcm.add_authorized_alias": "lets {receiver:aliaser} act as this account with XCM programs <expires?until block {plain:expires}|from now on>",
    "NominationPools.create|create_with_pool_id": _POOL,
    "NominationPools.update_roles": _ROLES,
    "NominationPools.set_commission": "pays the commission of the pool {plain:pool_id} to {set:new_commission}",
    "NominationPools.set_commission_claim_permission": "lets {set:permission} claim the commission of the pool {plain:pool_id}",
    "Bounties.propose_curator": "lets {account:curator} award the bounty {plain:bounty_id}",
    "ChildBounties.propose_curator": "lets {account:curator} award the child bounty {plain:child_bounty_id}",
    "Bounties.award_bounty": "lets {account:beneficiary} claim the bounty {plain:bounty_id}",
    "ChildBounties.award_child_bounty": "lets {account:beneficiary} claim the child bounty {plain:child_bounty_id}",
    "EVMAccounts.approve_contract": "lets the contract {hex:address} transfer the tokens of any account from now on",
    "EVMAccounts.add_contract_deployer": "lets {hex:address} deploy contracts from now on",
    "Liquidation.set_borrowing_contract": "lets the contract {hex:contract} borrow for the chain",
    "GigaHdx.set_pool_contract": "lets the contract {hex:contract} hold what is staked",
    "HSM.set_flash_minter": "lets the contract {hex:flash_minter_addr} mint",
    "Dispatcher.note_aave_manager": "lets {account:account} manage the money market",
    "EmaOracle.add_authorized_account": "lets {account:account} report prices",
    "LBP.create_pool": "pools {amount:asset_a_amount,asset_a} and {amount:asset_b_amount,asset_b}; lets {account:pool_owner} manage the pool, with fees to {account:fee_collector}",
    "LBP.update_pool_data": "lets {set:pool_owner,fee_collector} manage or collect the fees of the pool {whose:pool_id}",
    "OmnipoolLiquidityMining|XYKLiquidityMining.create_global_farm": _FARM,
    "Omnipool.add_token": "adds {asset:asset} to the Omnipool, as a position of {account:position_owner}",
    "Sudo.set_key": "lets {account:new} do anything with any account from now on",
    "System.set_code|set_code_without_checks|apply_authorized_upgrade": "replaces the runtime by which all accounts live",
    "System.authorize_upgrade|authorize_upgrade_without_checks": "lets anyone put the runtime {hex:code_hash} in force",
    "System.set_storage": "overwrites {count:items} values of any account or pallet",
    "System.kill_storage": "deletes {count:keys} values of any account or pallet",
    "System.kill_prefix": "deletes all values of any account or pallet under {hex:prefix}",
    "Registrar.schedule_code_upgrade": "replaces the runtime of the parachain {plain:para}",
    "Registrar.set_current_head": "replaces the head of the parachain {plain:para}",
    "Revive.set_code": "replaces the code of the contract {hex:dest} by {hex:code_hash}",
}
#: (pallet, method) -> what it gives.
RIGHTS: Mapping[tuple[str, str], str] = {
    key: words for name, words in _ROWS.items() for key in expand_calls(name)
}
