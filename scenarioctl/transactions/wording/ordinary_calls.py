"""Words for what users ordinarily sign beside transfers and trades.  To word another call, add a row.

A row is exact: what it doesn't say, the call doesn't do.  `sentences.py` says what the parts of a sentence are.
"""

from collections.abc import Mapping

from scenarioctl.transactions.wording.phrases import Words
from scenarioctl.transactions.wording.sentences import rows

_MINING = ("OmnipoolLiquidityMining", "XYKLiquidityMining")
_CROWDLOAN = "the crowdloan of the parachain {plain:index}"
_MONEY: Mapping[str, str] = {
    "Staking.bond": "stakes {native:value}, with rewards to {payee:payee},",
    "Staking.bond_extra": "stakes another {native:max_additional} of the signer at most",
    "Staking.unbond": "unstakes {native:value}, to be withdrawn later,",
    "Staking.rebond": "stakes again {native:value} that were to be withdrawn",
    "Staking.withdraw_unbonded": "withdraws all that the signer unstaked long enough ago",
    "Staking.payout_stakers": "pays out the rewards of era {plain:era} of the validator {account:validator_stash} and its nominators",
    "Staking.payout_stakers_by_page": "pays out the rewards of era {plain:era}, page {plain:page}, of the validator {account:validator_stash} and its nominators",
    "Staking.stake": "stakes {native:amount}",
    "Staking.increase_stake": "stakes another {native:amount} in the position {plain:position_id}",
    "Staking.claim": "claims the staking rewards of the position {plain:position_id}",
    "Staking.unstake": "unstakes the position {plain:position_id}",
    "FastUnstake.register_fast_unstake": "unstakes everything of the signer at once when its turn comes",
    "GigaHdx.giga_stake": "stakes {native:amount} for GIGAHDX",
    "GigaHdx.unlock": "unlocks what was unstaked in the position {plain:position_id}",
    "GigaHdxRewards.claim_rewards": "claims the signer's GIGAHDX rewards",
    "NominationPools.join": "joins the nomination pool {plain:pool_id} with {native:amount}",
    "NominationPools.bond_extra": "stakes another {extra:extra} in the signer's nomination pool",
    "NominationPools.claim_payout": "claims the signer's rewards of their nomination pool",
    "NominationPools.claim_payout_other": "claims the nomination pool rewards of {account:other} for them",
    "NominationPools.unbond": "unstakes {plain:unbonding_points} points of {account:member_account} from their nomination pool",
    "NominationPools.withdraw_unbonded": "withdraws what {account:member_account} unstaked from their nomination pool long enough ago",
    "NominationPools.claim_commission": "claims the commission of the nomination pool {plain:pool_id}",
    "ConvictionVoting.unlock": "unlocks what {account:target} voted with on the track {plain:class}, if nothing else locks it,",
    "Democracy.unlock": "unlocks what {account:target} voted with, if nothing else locks it,",
    "Vesting.vest": "unlocks what has vested for the signer",
    "Vesting.vest_other": "unlocks what has vested for {account:target}",
    "Vesting.claim": "unlocks what has vested for the signer",
    "Vesting.claim_for": "unlocks what has vested for {account:dest}",
    "Crowdloan.contribute": f"contributes {{native:value}} to {_CROWDLOAN}",
    "Crowdloan.contribute_all": f"contributes all that the signer has to {_CROWDLOAN}",
    "Crowdloan.withdraw": f"withdraws the contribution of {{account:who}} to {_CROWDLOAN} for them",
    "Referenda.place_decision_deposit": "places the decision deposit of the referendum {plain:index}",
    "Referenda.refund_decision_deposit": "refunds the decision deposit of the referendum {plain:index} to whoever placed it",
    "Referenda.refund_submission_deposit": "refunds the submission deposit of the referendum {plain:index} to whoever placed it",
    "Bounties.claim_bounty": "pays out the bounty {plain:bounty_id} to its beneficiary",
    "ChildBounties.claim_child_bounty": "pays out the child bounty {plain:child_bounty_id} to its beneficiary",
    "Treasury.payout": "pays out the treasury's spend {plain:index} to its beneficiary",
    "AssetConversion.add_liquidity": "adds up to {amount:amount1_desired,asset1} and {amount:amount2_desired,asset2}, at least {amount:amount1_min,asset1} and {amount:amount2_min,asset2}, to their pool, with the shares to {account:mint_to},",
    "AssetConversion.remove_liquidity": "gives {plain:lp_token_burn} shares for at least {amount:amount1_min_receive,asset1} and {amount:amount2_min_receive,asset2}, paid to {account:withdraw_to},",
    "Omnipool.add_liquidity": "adds {amount:amount,asset} to the Omnipool, for any number of shares,",
    "Omnipool.add_liquidity_with_limit": "adds {amount:amount,asset} to the Omnipool, for at least {plain:min_shares_limit} shares,",
    "Omnipool.add_all_liquidity": "adds all {asset:asset} of the signer to the Omnipool, for at least {plain:min_shares_limit} shares,",
    "Omnipool.remove_liquidity": "takes {plain:amount} shares of the position {plain:position_id} out of the Omnipool, for any amount,",
    "Omnipool.remove_liquidity_with_limit": "takes {plain:amount} shares of the position {plain:position_id} out of the Omnipool, for at least {plain:min_limit} smallest units,",
    "Omnipool.remove_all_liquidity": "takes all of the position {plain:position_id} out of the Omnipool, for at least {plain:min_limit} smallest units,",
    "Omnipool.sacrifice_position": "gives the position {plain:position_id} to the Omnipool for nothing",
    "Stableswap.add_assets_liquidity": "adds {amounts:assets} to the pool {plain:pool_id}, for at least {amount:min_shares,pool_id},",
    "Stableswap.add_liquidity_shares": "adds up to {amount:max_asset_amount,asset_id} to the pool {plain:pool_id}, for {amount:shares,pool_id},",
    "Stableswap.remove_liquidity": "gives {amount:share_amount,pool_id} for at least {amounts:min_amounts_out}",
    "Stableswap.remove_liquidity_one_asset": "gives {amount:share_amount,pool_id} for at least {amount:min_amount_out,asset_id}",
    "Stableswap.withdraw_asset_amount": "gives up to {amount:max_share_amount,pool_id} for {amount:amount,asset_id}",
    "XYK.create_pool": "creates a pool of {amount:amount_a,asset_a} and {amount:amount_b,asset_b}",
    "XYK.add_liquidity": "adds {amount:amount_a,asset_a} and up to {amount:amount_b_max_limit,asset_b} to their pool, for any number of shares,",
    "XYK.add_liquidity_with_limits": "adds {amount:amount_a,asset_a} and up to {amount:amount_b_max_limit,asset_b} to their pool, for at least {plain:min_shares} shares,",
    "XYK.remove_liquidity": "gives {plain:share_amount} shares for any amount of {asset:asset_a} and {asset:asset_b}",
    "XYK.remove_liquidity_with_limits": "gives {plain:share_amount} shares for at least {amount:min_amount_a,asset_a} and {amount:min_amount_b,asset_b}",
    "OTC.place_order": "offers anyone {amount:amount_out,asset_out} for {amount:amount_in,asset_in}",
    "OTC.fill_order": "fills the order {plain:order_id} whole, at the price set in it,",
    "OTC.partial_fill_order": "fills the order {plain:order_id} with {plain:amount_in} smallest units of what it asks for",
    "OTC.cancel_order": "cancels the signer's order {plain:order_id}",
    "Bonds.redeem": "redeems {plain:amount} smallest units of the bond {plain:bond_id}",
    "Referrals.claim_rewards": "claims the signer's referral rewards",
    "Referrals.convert": "converts the referral rewards in {asset:asset_id}, for those who earned them,",
    "Referrals.register_code": "registers the referral code {plain:code} for a fee",
    **{
        f"{pallet}.claim_rewards": "claims the rewards of the deposit {plain:deposit_id} in the farm {plain:yield_farm_id}"
        for pallet in _MINING
    },
    **{
        f"{pallet}.withdraw_shares": "takes the deposit {plain:deposit_id} out of the farm {plain:yield_farm_id}, with its rewards,"
        for pallet in _MINING
    },
    "OmnipoolLiquidityMining.exit_farms": "takes the deposit {plain:deposit_id} out of {count:yield_farm_ids} farms, with its rewards,",
    "XYKLiquidityMining.exit_farms": "takes the deposit {plain:deposit_id} out of {count:farm_entries} farms, with its rewards,",
    **{
        f"{pallet}.redeposit_shares": "puts the deposit {plain:deposit_id} also into the farm {plain:yield_farm_id}"
        for pallet in _MINING
    },
    "OmnipoolLiquidityMining.deposit_shares": "puts the position {plain:position_id} into the farm {plain:yield_farm_id}",
    "OmnipoolLiquidityMining.join_farms": "puts the position {plain:position_id} into {count:farm_entries} farms",
    "XYKLiquidityMining.deposit_shares": "puts {plain:shares_amount} pool shares into the farm {plain:yield_farm_id}",
    "XYKLiquidityMining.join_farms": "puts {plain:shares_amount} pool shares into {count:farm_entries} farms",
    "XYKLiquidityMining.add_liquidity_and_join_farms": "adds {amount:amount_a,asset_a} and up to {amount:amount_b_max_limit,asset_b} to their pool, for any number of shares, and puts them into {count:farm_entries} farms",
}
_OTHER: Mapping[str, str] = {
    "Staking.set_payee": "pays staking rewards to {payee:payee}",
    "Staking.nominate": "nominates {accounts:targets}",
    "Staking.chill": "stops nominating and validating",
    "FastUnstake.deregister": "takes back the signer's fast unstake",
    "NominationPools.set_claim_permission": "lets claims of the signer's pool rewards, for the signer, be {plain:permission}",
    "ConvictionVoting.vote": "votes on the referendum {plain:poll_index}: {vote:vote},",
    "ConvictionVoting.remove_vote": "removes the signer's vote on the referendum {plain:index}",
    "ConvictionVoting.undelegate": "stops delegating votes on the track {plain:class}",
    "Democracy.vote": "votes on the referendum {plain:ref_index}: {vote:vote},",
    "Democracy.remove_vote": "removes the signer's vote on the referendum {plain:index}",
    "Democracy.undelegate": "stops delegating votes",
    "Proxy.create_pure": "creates an account that the signer controls as its proxy of the type {plain:proxy_type}",
    "Proxy.remove_proxy": "takes back from {account:delegate} the right to act as the signer's proxy of the type {plain:proxy_type}",
    "Proxy.remove_proxies": "takes back the rights of all the signer's proxies (an account that only proxies control is lost)",
    "Proxy.remove_announcement": "takes back the announcement {hex:call_hash} for {account:real}",
    "Proxy.reject_announcement": "rejects the announcement {hex:call_hash} of {account:delegate}",
    "Proxy.poke_deposit": "updates the deposit for the signer's proxies",
    "Multisig.cancel_as_multi": "cancels the call {hex:call_hash} of a multisig of {count:other_signatories} others and the signer",
    "Multisig.poke_deposit": "updates the deposit for the call {hex:call_hash} of a multisig",
    "Recovery.remove_recovery": "takes back the right of the signer's friends to recover this account",
    "Recovery.close_recovery": "ends the recovery of this account by {account:rescuer}, whose deposit goes to the signer,",
    "Session.purge_keys": "removes the signer's session keys",
    "Identity.clear_identity": "removes the signer's identity",
    "Identity.set_identity": "sets the signer's identity, for a deposit,",
    "Identity.set_subs": "removes all other parts of the signer's identity",
    "Identity.remove_sub": "removes {account:sub} from the signer's identity",
    "Identity.quit_sub": "leaves the identity of which the signer is a part",
    "Identity.cancel_request": "cancels the request to the registrar {plain:reg_index}",
    "Preimage.unnote_preimage": "removes the bytes of the hash {hex:hash}",
    "Indices.claim": "claims the index {plain:index}",
    "Indices.free": "gives up the index {plain:index}",
    "Claims.attest": "agrees to the statement {plain:statement}",
    "VoterList.rebag": "puts {account:dislocated} in its place in the list of voters",
    "Assets.cancel_approval": "takes back what {account:delegate} may transfer of the signer's {asset:id}",
    "ForeignAssets.cancel_approval": "takes back what {account:delegate} may transfer of the signer's {asset:id}",
    "Assets.touch": "opens an account for {asset:id}, for a deposit,",
    "ForeignAssets.touch": "opens an account for {asset:id}, for a deposit,",
    "Assets.set_metadata": "names {asset:id} {plain:name} with the symbol {plain:symbol} and {plain:decimals} decimals",
    "AssetConversion.create_pool": "creates a pool of {asset:asset1} and {asset:asset2}, for a fee,",
    "AssetConversion.touch": "opens accounts for the pool of {asset:asset1} and {asset:asset2}",
    "Uniques.cancel_approval": "takes back approvals for item {plain:item} of collection {plain:collection}",
    "Nfts.cancel_approval": "takes back what {account:delegate} may do with item {plain:item} of collection {plain:collection}",
    "Nfts.clear_all_transfer_approvals": "takes back all approvals for item {plain:item} of collection {plain:collection}",
    "MultiTransactionPayment.set_currency": "pays fees in {asset:currency} from now on",
    "EVMAccounts.bind_evm_address": "binds this account to its EVM address",
    "Referrals.link_code": "links the signer to the referral code {plain:code}",
    "XcmPallet.remove_all_authorized_aliases": "takes back all rights to act as this account with XCM programs",
    "PolkadotXcm.remove_all_authorized_aliases": "takes back all rights to act as this account with XCM programs",
    "Revive.map_account": "maps this account to its address for contracts, for a deposit,",
    "Revive.unmap_account": "takes back the address of this account for contracts",
}


#: (pallet, method) -> how it is said.
MONEY: Mapping[tuple[str, str], Words] = rows(_MONEY, " on {here}")
OTHER: Mapping[tuple[str, str], Words] = rows(_OTHER, " on {here}")
