"""Example requests of operations, for `/openapi.json`.

Tests validate each example against the schemas.
"""

from collections.abc import Mapping
from typing import Any

_ACCOUNT = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
_REMARK = "0x240400071468656c6c6f"
#: Signed by the development key //Alice, with nonce 5.
_SIGNED = (
    "0xbd018400d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d0140c490cc94"
    "31726d344be1c0"
    "4e6f9aab747f7dc27f91565f8fc1c5d09adae66d6e461dff7c8a6f884fed03c3ed4cc633bc53043180bdd1"
    "0e9ed338e370a7"
    "648d0014000000001468656c6c6f"
)
#: Of _ACCOUNT, the development key //Bob, for _REMARK with nonce 0.
_SIGNATURE = (
    "0x4a28adce4c59be59ddd28f0360111a044e66b07c0c8be16c0bc6338bd5344b2027f340a63b893b955709"
    "42718f0a1c96dd0"
    "0c201c008edc9be011566575d7b88"
)
_HASH = "0xb221f1cf8189bcd4a0fb670613f2d68c93d61d958c03a6fba0644f6a04689863"
_UUID = "6f1c2d3e-4b5a-4c6d-8e7f-0a1b2c3d4e5f"
_DIAGRAM = (
    "eJyrVsrLT0ktVrKKrlbKTFGyUkpR0lEqqSxIBTFTcxIrgdy0/"
    "KJcl8SSRCWraqXi1OT8vBSgejOD2tpYHaXUlHSw7thaAHXzF/8="
)
_FLOW = '[[steps]]\ntype = "delay"\nseconds = 60\n'

#: Operation -> the fields of a request, including those in its path.
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "scenarios.scenario_info": {"id": "Xq3b9LmZt"},
    "previews.preview_scenario": {"scenario_id": "Xq3b9LmZt"},
    "scenarios.count_templates": {"chain": "hydraDx"},
    "scenarios.full_scenario_info": {"id": "Xq3b9LmZt"},
    "builds.batch_scenario": {"scenario": "Xq3b9LmZt"},
    "creation.create_scenario": {
        "source_chain": "assetHub",
        "dest_chain": "hydraDx",
        "destination_address": _ACCOUNT,
        "amount": 1.5,
        "assetid": 1984,
    },
    "creation.create_swap": {
        "assetin": 5,
        "assetout": 10,
        "amount": 1,
        "min_amount_out": "4000000",
    },
    "payouts.create_payout": {
        "lines": f"account,amount,memo\n{_ACCOUNT},1200,May\n",
        "chain": "assetHub",
        "asset": "USDT",
    },
    "payouts.list_payments": {"scenario": "Xq3b9LmZt"},
    "creation.create_remark": {"chain": "polkadot", "text": "hello"},
    "creation.create_query": {
        "chain": "polkadot",
        "pallet_name": "System",
        "method_name": "Account",
        "params": [_ACCOUNT],
    },
    "creation.create_flow": {
        "flow": {"steps": [{"type": "Remark", "chain": "polkadot", "text": "hello"}]},
        "syntax": "json",
    },
    "asset_traps.claim_assets": {"chain": "assetHub", "trapped_in": 13000000},
    "swap_quotes.quote_swap": {"assetin": 5, "assetout": 10, "amount": 1},
    "builds.asset_transfer": {
        "sourchain": "assetHub",
        "destchain": "hydraDx",
        "assetid": "1984",
        "amount": 1500000,
        "destinationaddress": _ACCOUNT,
    },
    "chains.open_channels": {"relay": "polkadot", "paraid": 2034},
    "chains.list_chains": {"role": "relay"},
    "chains.show_chain": {"chain": "hydraDx"},
    "chains.list_pallets": {"chain": "polkadot", "item": "Balances.transfer_keep_alive"},
    "assets.list_assets": {"chain": "hydraDx", "canonical": True},
    "assets.show_asset": {"asset": "USDT", "chain": "hydraDx"},
    "addresses.show_address": {"address": _ACCOUNT},
    "addresses.list_addresses": {},
    "addresses.add_address": {"name": "Alice", "address": _ACCOUNT, "watch": True},
    "addresses.remove_address": {"name": "Alice"},
    "multisigs.list_operations": {"as": "council", "chains": ["assetHub"]},
    **{
        f"multisigs.{name}_operation": {
            "as": "council",
            "call_hash": _HASH,
            "chain": "assetHub",
            "sender": _ACCOUNT,
        }
        for name in ("approve", "execute", "cancel")
    },
    "balances.read_balances": {"address": _ACCOUNT, "chains": ["polkadot", "assetHub"]},
    "queries.query_chain": {
        "chain": "polkadot",
        "pallet_name": "System",
        "method_name": "Number",
        "params": [],
    },
    "broadcasts.broadcast": {"chain": "polkadot", "tx": _SIGNED},
    "transaction_events": {"chain": "polkadot", "hash": _HASH},
    "transaction_status.transaction_status": {"chain": "polkadot", "hash": _HASH},
    "transaction_history.list_transactions": {"chain": "polkadot", "since": "30d"},
    "queries.contract_info": {
        "abiJson": {
            "version": "4",
            "spec": {
                "messages": [
                    {
                        "label": "flip",
                        "selector": "0x633aa551",
                        "mutates": True,
                        "args": [],
                        "payable": False,
                    }
                ]
            },
            "types": [],
        },
        "address": _ACCOUNT,
    },
    "scenarios.list_scenarios": {"limit": 10, "chain": "hydraDx"},
    "scenarios.show_scenario": {"scenario": "Xq3b9LmZt"},
    "previews.preview_flow": {"flow": _FLOW, "format": "svg"},
    "scenario_changes.scenario_flow": {"scenario": "Xq3b9LmZt"},
    "scenario_changes.replace_scenario": {"scenario": "Xq3b9LmZt", "content": _FLOW},
    "scenarios.delete_scenario": {"scenario": "Xq3b9LmZt"},
    "scenarios.import_scenario": {"url": _DIAGRAM},
    "scenarios.export_scenario": {"id": "Xq3b9LmZt"},
    "builds.build_call": {
        "chain": "polkadot",
        "pallet": "System",
        "method": "remark",
        "args": ["hello"],
    },
    "builds.transfer_tokens": {
        "source_chain": "assetHub",
        "dest_chain": "hydraDx",
        "assetid": "USDT",
        "amount": "1.5",
        "destination_address": _ACCOUNT,
    },
    "builds.batch_calls": {"chain": "polkadot", "calls": ["0x00001468656c6c6f", "0x00000c627965"]},
    "views.decode_transaction": {"tx": _REMARK, "chain": "polkadot"},
    "views.check_transaction": {
        "sender": _ACCOUNT,
        "tx": _REMARK,
        "chain": "polkadot",
    },
    "payload.transaction_payload": {
        "tx": _REMARK,
        "chain": "polkadot",
        "sender": _ACCOUNT,
        "nonce": 0,
    },
    "signed_transactions.assemble_transaction": {
        "payload": {
            "address": _ACCOUNT,
            "blockHash": "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3",
            "blockNumber": "0x00000000",
            "era": "0x00",
            "genesisHash": "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3",
            "method": "0x00071468656c6c6f",
            "nonce": "0x00000000",
            "signedExtensions": [
                "CheckNonZeroSender",
                "CheckSpecVersion",
                "CheckTxVersion",
                "CheckGenesis",
                "CheckMortality",
                "CheckNonce",
                "CheckWeight",
                "ChargeTransactionPayment",
                "PrevalidateAttests",
                "CheckMetadataHash",
            ],
            "specVersion": "0x001e8480",
            "tip": "0x00000000000000000000000000000000",
            "transactionVersion": "0x0000001a",
            "version": 4,
        },
        "signature": _SIGNATURE,
    },
    "jobs.start_job": {"id": "Xq3b9LmZt", "every": "12h"},
    "jobs.stop_job": {"id": "Xq3b9LmZt"},
    "job_changes.pause_job": {"scenario": "Xq3b9LmZt"},
    "job_changes.resume_job": {"scenario": "Xq3b9LmZt"},
    "jobs.run_job": {"scenario": "Xq3b9LmZt"},
    "jobs.list_jobs": {"state": "running"},
    "jobs.job_status": {"scenario": "Xq3b9LmZt"},
    "job_runs.list_runs": {"scenario": "Xq3b9LmZt", "limit": 1},
    "job_runs.list_steps": {"scenario": "Xq3b9LmZt"},
    "jobs.job_log": {"id": "Xq3b9LmZt"},
    "jobs.job_mempool": {"id": "Xq3b9LmZt"},
    "webhooks.post_event": {"uuid": _UUID, "content": {"address": _ACCOUNT, "amount": 1.5}},
    "webhooks.list_events": {"uuid": _UUID},
}
