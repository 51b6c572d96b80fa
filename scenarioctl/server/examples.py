"""Example requests and answers of operations, for `/openapi.json`.

Tests validate each example against the schemas.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Example(NamedTuple):
    #: The fields of the request, including those in its path.
    request: Mapping[str, Any]
    answer: Any = None


_ACCOUNT = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
_REMARK = "0x240400071468656c6c6f"
_TRANSFER = (
    "0x3101041f0d05010100c91f05040002043205011f00828d5b0001050002043205011f0105040d01020400"
    "0101008eaf0415"
    "1687736326c9fea17e25fc5287613693c912909cb226aa4794f26a4800"
)
_SWAP = "0xac043b05050000000a00000000e40b5402000000000000000000000000093d00000000000000000000000000"
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
#: A PNG of one pixel.
_DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU"
    "5ErkJggg=="
)
_UUID = "6f1c2d3e-4b5a-4c6d-8e7f-0a1b2c3d4e5f"
_DIAGRAM = (
    "eJyrVsrLT0ktVrKKrlbKTFGyUkpR0lEqqSxIBTFTcxIrgdy0/"
    "KJcl8SSRCWraqXi1OT8vBSgejOD2tpYHaXUlHSw7thaAHXzF/8="
)

_FLOW = '[[steps]]\ntype = "delay"\nseconds = 60\n'

EXAMPLES: Mapping[str, Example] = {
    "scenarios.scenario_info": Example(
        {"id": "Xq3b9LmZt"}, {"result": "assetHub > xTransfer > hydraDx"}
    ),
    "previews.preview_scenario": Example(
        {"scenario_id": "Xq3b9LmZt"}, {"info": "assetHub > xTransfer > hydraDx", "img": _DOT}
    ),
    "scenarios.count_templates": Example({"chain": "hydraDx"}, {"Amount": 3}),
    "scenarios.full_scenario_info": Example(
        {"id": "Xq3b9LmZt"},
        {
            "result": {
                "tx": _TRANSFER,
                "says": (
                    "sends 1.5 USDT from Polkadot Asset Hub to Hydration for "
                    "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
                ),
                "summary": "assetHub > xTransfer > hydraDx",
                "asset": "1984",
                "amount": "1.5",
                "source_chain": "assetHub",
                "dest_chain": "hydraDx",
                "txtype": "xTransfer",
                "spec_version": 2003001,
            }
        },
    ),
    "builds.batch_scenario": Example({"scenario": "Xq3b9LmZt"}),
    "creation.create_scenario": Example(
        {
            "source_chain": "assetHub",
            "dest_chain": "hydraDx",
            "destination_address": _ACCOUNT,
            "amount": 1.5,
            "assetid": 1984,
        },
        {"result": "Xq3b9LmZt"},
    ),
    "creation.create_swap": Example(
        {"assetin": 5, "assetout": 10, "amount": 1, "min_amount_out": "4000000"},
        {
            "success": True,
            "swap": {"swap_tx": _SWAP, "scenarioid": "Xq3b9LmZt", "spec_version": 428},
        },
    ),
    "payouts.create_payout": Example(
        {
            "lines": f"account,amount,memo\n{_ACCOUNT},1200,May\n",
            "chain": "assetHub",
            "asset": "USDT",
        }
    ),
    "payouts.list_payments": Example({"scenario": "Xq3b9LmZt"}),
    "creation.create_remark": Example(
        {"chain": "polkadot", "text": "hello"}, {"result": "Xq3b9LmZt"}
    ),
    "creation.create_query": Example(
        {
            "chain": "polkadot",
            "pallet_name": "System",
            "method_name": "Account",
            "params": [_ACCOUNT],
        },
        {"result": "Xq3b9LmZt"},
    ),
    "creation.create_flow": Example(
        {
            "flow": {"steps": [{"type": "Remark", "chain": "polkadot", "text": "hello"}]},
            "syntax": "json",
        },
        {"result": "Xq3b9LmZt"},
    ),
    "asset_traps.claim_assets": Example({"chain": "assetHub", "trapped_in": 13000000}),
    "swap_quotes.quote_swap": Example({"assetin": 5, "assetout": 10, "amount": 1}),
    "builds.asset_transfer": Example(
        {
            "sourchain": "assetHub",
            "destchain": "hydraDx",
            "assetid": "1984",
            "amount": 1500000,
            "destinationaddress": _ACCOUNT,
        },
        {"txdata": _TRANSFER, "spec_version": 2003001},
    ),
    "chains.open_channels": Example(
        {"relay": "polkadot", "paraid": 2034},
        {"open_hrmp_channels": [1000, 2000, 2004], "sourcechain": 2034},
    ),
    "chains.list_chains": Example({"role": "relay"}),
    "chains.show_chain": Example({"chain": "hydraDx"}),
    "chains.list_pallets": Example({"chain": "polkadot", "item": "Balances.transfer_keep_alive"}),
    "assets.list_assets": Example({"chain": "hydraDx", "canonical": True}),
    "assets.show_asset": Example({"asset": "USDT", "chain": "hydraDx"}),
    "addresses.show_address": Example({"address": _ACCOUNT}),
    "addresses.list_addresses": Example({}),
    "addresses.add_address": Example({"name": "Alice", "address": _ACCOUNT, "watch": True}),
    "addresses.remove_address": Example({"name": "Alice"}),
    "multisigs.list_operations": Example({"as": "council", "chains": ["assetHub"]}),
    **{
        f"multisigs.{name}_operation": Example(
            {"as": "council", "call_hash": _HASH, "chain": "assetHub", "sender": _ACCOUNT}
        )
        for name in ("approve", "execute", "cancel")
    },
    "balances.read_balances": Example({"address": _ACCOUNT, "chains": ["polkadot", "assetHub"]}),
    "queries.query_chain": Example(
        {"chain": "polkadot", "pallet_name": "System", "method_name": "Number", "params": []},
        {"result": "26000000", "value": "26000000", "asked": 1},
    ),
    "broadcasts.broadcast": Example(
        {"chain": "polkadot", "tx": _SIGNED}, {"status": "broadcasted", "hash": _HASH}
    ),
    "transaction_events": Example({"chain": "polkadot", "hash": _HASH}),
    "transaction_status.transaction_status": Example({"chain": "polkadot", "hash": _HASH}),
    "transaction_history.list_transactions": Example({"chain": "polkadot", "since": "30d"}),
    "queries.contract_info": Example(
        {
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
        {
            "sucess": True,
            "description": [
                {"function_name": "flip", "selector": "0x633aa551", "mutates": True, "args": []}
            ],
            "onchain": None,
        },
    ),
    "scenarios.list_scenarios": Example({"limit": 10, "chain": "hydraDx"}),
    "scenarios.show_scenario": Example({"scenario": "Xq3b9LmZt"}),
    "previews.preview_flow": Example({"flow": _FLOW, "format": "svg"}),
    "scenario_changes.scenario_flow": Example(
        {"scenario": "Xq3b9LmZt"},
        {"id": "Xq3b9LmZt", "revision": "9b7364f9044372ef", "form": "flow", "text": _FLOW},
    ),
    "scenario_changes.replace_scenario": Example(
        {"scenario": "Xq3b9LmZt", "content": _FLOW},
        {"id": "Xq3b9LmZt", "revision": "7caf37d8ab5d8b02", "changed": True, "summary": "delay"},
    ),
    "scenarios.delete_scenario": Example(
        {"scenario": "Xq3b9LmZt"}, {"success": True, "result": "Deleted Xq3b9LmZt"}
    ),
    "scenarios.import_scenario": Example(
        {"url": _DIAGRAM}, {"success": True, "shortUrl": "Xq3b9LmZt"}
    ),
    "scenarios.export_scenario": Example(
        {"id": "Xq3b9LmZt"}, {"success": True, "longUrl": _DIAGRAM}
    ),
    "builds.build_call": Example(
        {"chain": "polkadot", "pallet": "System", "method": "remark", "args": ["hello"]},
        {
            "chain": "polkadot",
            "tx": "0x200400001468656c6c6f",
            "call_data": "0x00001468656c6c6f",
            "says": "writes 'hello' to the history of Polkadot",
            "spec_version": 2000000,
        },
    ),
    "builds.transfer_tokens": Example(
        {
            "source_chain": "assetHub",
            "dest_chain": "hydraDx",
            "assetid": "USDT",
            "amount": "1.5",
            "destination_address": _ACCOUNT,
        },
        {
            "chain": "assetHub",
            "tx": _TRANSFER,
            "call_data": "0x" + _TRANSFER[8:],
            "says": (
                "sends 1.5 USDt from Polkadot Asset Hub to Hydration (reserve on Polkadot "
                f"Asset Hub) for {_ACCOUNT}"
            ),
            "spec_version": 2003001,
        },
    ),
    "builds.batch_calls": Example(
        {"chain": "polkadot", "calls": ["0x00001468656c6c6f", "0x00000c627965"]}
    ),
    "decoded_transactions.decode_transaction": Example({"tx": _REMARK, "chain": "polkadot"}),
    "transaction_checks.check_transaction": Example(
        {"sender": _ACCOUNT, "tx": _REMARK, "chain": "polkadot"}
    ),
    "decoded_transactions.transaction_payload": Example(
        {"tx": _REMARK, "chain": "polkadot", "sender": _ACCOUNT, "nonce": 0}
    ),
    "signed_transactions.assemble_transaction": Example(
        {
            "chain": "polkadot",
            "tx": _REMARK,
            "sender": _ACCOUNT,
            "nonce": 0,
            "signature": _SIGNATURE,
        }
    ),
    "jobs.start_job": Example(
        {"id": "Xq3b9LmZt", "every": "12h"}, {"success": True, "result": "Job started"}
    ),
    "jobs.stop_job": Example({"id": "Xq3b9LmZt"}, {"success": True, "result": "Job stopped"}),
    "job_changes.pause_job": Example(
        {"scenario": "Xq3b9LmZt"}, {"success": True, "result": "Job paused"}
    ),
    "job_changes.resume_job": Example({"scenario": "Xq3b9LmZt"}),
    "jobs.run_job": Example({"scenario": "Xq3b9LmZt"}),
    "jobs.list_jobs": Example({"state": "running"}),
    "jobs.job_status": Example({"scenario": "Xq3b9LmZt"}),
    "job_runs.list_runs": Example(
        {"scenario": "Xq3b9LmZt", "limit": 1},
        {
            "runs": [
                {
                    "number": 17,
                    "planned": "2026-11-20T09:30:00.000000000Z",
                    "started": "2026-11-20T09:30:00.104920443Z",
                    "finished": "2026-11-20T09:30:00.987332001Z",
                    "seconds": 0.882,
                    "outcome": "executed",
                    "drafts": 1,
                    "failure": "",
                }
            ],
            "next": "17",
        },
    ),
    "job_runs.list_steps": Example(
        {"scenario": "Xq3b9LmZt"},
        {
            "run": {
                "number": 17,
                "planned": "2026-11-20T09:30:00.000000000Z",
                "started": "2026-11-20T09:30:00.104920443Z",
                "finished": "2026-11-20T09:30:00.987332001Z",
                "seconds": 0.882,
                "outcome": "executed",
                "drafts": 0,
                "failure": "",
            },
            "steps": [
                {
                    "number": 1,
                    "node": "http_1",
                    "step": "http",
                    "outcome": "done",
                    "seconds": 0.741,
                    "input": "GET https://prices.example.org/dot",
                    "output": '{"status": 200, "body": {"usd": 4.2}}',
                    "output_length": 37,
                }
            ],
        },
    ),
    "jobs.job_log": Example(
        {"id": "Xq3b9LmZt"},
        {"success": True, "result": ["Starting worker", "workload executed", "Sleeping"]},
    ),
    "jobs.job_mempool": Example(
        {"id": "Xq3b9LmZt"},
        {
            "mempool": [
                {
                    "chain": "polkadot",
                    "amount": "0",
                    "txType": "Remark",
                    "Date": "2026-11-20T09:30:00.123456789Z",
                    "tx": _REMARK,
                    "spec_version": 2000000,
                    "expires": "2026-11-21T09:30:00.123456789Z",
                    "state": "current",
                }
            ]
        },
    ),
    "webhooks.post_event": Example(
        {"uuid": _UUID, "content": {"address": _ACCOUNT, "amount": 1.5}},
        {"success": True, "id": 17},
    ),
    "webhooks.list_events": Example({"uuid": _UUID}),
}
