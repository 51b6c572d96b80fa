"""What operations answer, for `/openapi.json`: JSON schemas and examples.  To add an operation, add a row to ANSWERS.

`tests/conftest.py` holds every answer of the tests against them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scenarioctl.actions import all_steps

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
SWITCH: Schema = {"type": "boolean"}
ANYTHING: Schema = {}
HEX: Schema = {"type": "string", "pattern": "^0x([0-9a-f]{2})*$"}
DIGITS: Schema = {"type": "string", "pattern": "^[0-9]+$"}
MOMENT: Schema = {
    "type": "string",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{9}Z$",
    "description": "ISO 8601, UTC, nanoseconds",
}
ID: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
YES: Schema = {"type": "boolean", "const": True}


def fields(leave: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """Return the schema of an object with just these fields, of which *leave* may be left out."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in leave],
        "additionalProperties": False,
    }


def items(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def or_null(schema: Schema) -> Schema:
    allowed = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, **allowed, "type": [schema["type"], "null"]}


def words(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


_OPEN: Schema = {"type": "object"}
_AMOUNT = {"value": DIGITS, "asset": TEXT, "human": or_null(TEXT)}
_MAYBE_AMOUNT: Schema = {"anyOf": [fields(**_AMOUNT), {"type": "null"}]}
_HOLDING = fields(chain=TEXT, account=TEXT, **_AMOUNT, role=or_null(TEXT), system={"type": "boolean"})
_CHECK = {
    "verdict": words("ok", "refused", "unknown"),
    "reasons": items(TEXT),
    "warnings": items(TEXT),
    "steps": items(fields(chain=TEXT, what=TEXT, **_AMOUNT)),
    "arrival": fields(computed=_MAYBE_AMOUNT, credited=_MAYBE_AMOUNT),
    "leaves": items(_HOLDING),
    "credits": items(_HOLDING),
    "stops": items(_OPEN),
}
CHECK: Schema = fields(**_CHECK)
_BUILT = {"spec_version": NUMBER, "offline": YES}
_DESCRIBED = {
    "tx": HEX,
    "summary": TEXT,
    "asset": TEXT,
    "amount": TEXT,
    "source_chain": TEXT,
    "dest_chain": TEXT,
    "txtype": TEXT,
}
ENTRY: Schema = fields(
    ("spec_version", "expires", "state", "flag"),
    chain=TEXT,
    amount=DIGITS,
    txType=words(*(step.tx_type for step in all_steps() if step.tx_type)),
    Date=MOMENT,
    tx=TEXT,
    spec_version=NUMBER,
    expires=MOMENT,
    state=words("current", "expired", "outdated"),
    flag=TEXT,
)
_JOB: Schema = fields(
    id=ID,
    state=words("running", "stopped", "paused"),
    schedule=or_null(TEXT),
    every=or_null(TEXT),
    cron=or_null(TEXT),
    timezone=or_null(TEXT),
    jitter=or_null(TEXT),
    overlap=or_null(TEXT),
    catchup=or_null(TEXT),
    pause_after=or_null(NUMBER),
    timeout=or_null(TEXT),
    changed=or_null(MOMENT),
    next=or_null(MOMENT),
    last=or_null(MOMENT),
    finished=or_null(MOMENT),
    outcome=or_null(words("executed", "failed")),
    executing=SWITCH,
    step=TEXT,
    runs=NUMBER,
    failures=NUMBER,
    reason=TEXT,
)
_RUN: Schema = fields(
    planned=MOMENT,
    started=MOMENT,
    finished=MOMENT,
    outcome=words("executed", "failed"),
    drafts=NUMBER,
    failure=TEXT,
)
_TOLD: Schema = fields(success=YES, result=TEXT)
_CREATED: Schema = fields(("check",), result=ID, check=CHECK)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What an operation answers, and an example of both ways."""

    schema: Schema
    #: The fields of a request, those of its path among them; None for a whole body that is no object.
    request: Mapping[str, Any] = field(default_factory=dict)
    answer: Any = None


_ACCOUNT = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
_REMARK = "0x240400071468656c6c6f"
_TRANSFER = (
    "0x3101041f0d05010100c91f05040002043205011f00828d5b0001050002043205011f0105040d010204000101008eaf0415"
    "1687736326c9fea17e25fc5287613693c912909cb226aa4794f26a4800"
)
_SWAP = "0xac043b05050000000a00000000e40b5402000000000000000000000000093d00000000000000000000000000"
#: Signed by the development key //Alice, for the nonce 5.
_SIGNED = (
    "0xbd018400d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d0140c490cc9431726d344be1c0"
    "4e6f9aab747f7dc27f91565f8fc1c5d09adae66d6e461dff7c8a6f884fed03c3ed4cc633bc53043180bdd10e9ed338e370a7"
    "648d0014000000001468656c6c6f"
)
_HASH = "0xb221f1cf8189bcd4a0fb670613f2d68c93d61d958c03a6fba0644f6a04689863"
#: The smallest picture that there is: one dot.
_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_UUID = "6f1c2d3e-4b5a-4c6d-8e7f-0a1b2c3d4e5f"
_DIAGRAM = "eJyrVspLTS1WsoqOrdVRSk1JTwXSSrUAQFwGDg=="

ANSWERS: Mapping[str, Answered] = {
    "scenarios.scenario_info": Answered(
        schema=fields(result=TEXT),
        request={"id": "Xq3b9LmZt"},
        answer={"result": "assetHub > xTransfer > hydraDx"},
    ),
    "previews.preview_scenario": Answered(
        schema=fields(info=TEXT, img={"type": "string", "contentEncoding": "base64"}),
        request={"scenario_id": "Xq3b9LmZt"},
        answer={"info": "assetHub > xTransfer > hydraDx", "img": _DOT},
    ),
    "templates.count_templates": Answered(
        schema=fields(Amount=NUMBER), request={"chain": "hydraDx"}, answer={"Amount": 3}
    ),
    "scenarios.full_scenario_info": Answered(
        schema=fields(
            ("check",),
            result=fields(
                ("offline", "transactions"),
                **_DESCRIBED,
                **_BUILT,
                # Of a scenario of several; one that cannot be drafted now has an error in its place.
                transactions=items(
                    {
                        "anyOf": [
                            fields(
                                ("check",),
                                node=TEXT,
                                **_DESCRIBED,
                                spec_version=NUMBER,
                                warnings=items(TEXT),
                                check=CHECK,
                            ),
                            fields(node=TEXT, error=TEXT, code=TEXT),
                        ]
                    }
                ),
            ),
            check=CHECK,
        ),
        request={"id": "Xq3b9LmZt"},
        answer={
            "result": {
                "tx": _TRANSFER,
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
    "creation.create_scenario": Answered(
        schema=_CREATED,
        request={
            "source_chain": "assetHub",
            "dest_chain": "hydraDx",
            "destination_address": _ACCOUNT,
            "amount": 1.5,
            "assetid": 1984,
        },
        answer={"result": "Xq3b9LmZt"},
    ),
    "creation.create_swap": Answered(
        schema=fields(
            ("check",),
            success=YES,
            swap=fields(("offline",), swap_tx=HEX, scenarioid=ID, **_BUILT),
            check=CHECK,
        ),
        request={"assetin": 5, "assetout": 10, "amount": 1, "min_amount_out": "4000000"},
        answer={
            "success": True,
            "swap": {"swap_tx": _SWAP, "scenarioid": "Xq3b9LmZt", "spec_version": 428},
        },
    ),
    "creation.create_remark": Answered(
        schema=_CREATED, request={"chain": "polkadot", "text": "hello"}, answer={"result": "Xq3b9LmZt"}
    ),
    "creation.create_query": Answered(
        schema=_CREATED,
        request={
            "chain": "polkadot",
            "pallet_name": "System",
            "method_name": "Account",
            "params": [_ACCOUNT],
        },
        answer={"result": "Xq3b9LmZt"},
    ),
    "creation.create_flow": Answered(
        schema=fields(
            ("checks",), result=ID, checks=items(fields(step=TEXT, node=TEXT, summary=TEXT, **_CHECK))
        ),
        request={
            "flow": {"steps": [{"type": "Remark", "chain": "polkadot", "text": "hello"}]},
            "syntax": "json",
        },
        answer={"result": "Xq3b9LmZt"},
    ),
    "swap_quotes.quote_swap": Answered(
        schema=fields(
            sold=TEXT,
            received=TEXT,
            at_least=TEXT,
            amount_in=DIGITS,
            amount_out=DIGITS,
            min_amount_out=DIGITS,
            price=TEXT,
            impact_percent=or_null(TEXT),
            asset_fee=or_null(TEXT),
            protocol_fee=or_null(TEXT),
            route=items(ANYTHING),
            legs=items(_OPEN),
            block=NUMBER,
            block_hash=HEX,
            spec_version=NUMBER,
        ),
        request={"assetin": 5, "assetout": 10, "amount": 1},
    ),
    "transfers.asset_transfer": Answered(
        schema=fields(("offline", "check"), txdata=HEX, **_BUILT, check=CHECK),
        request={
            "sourchain": "assetHub",
            "destchain": "hydraDx",
            "assetid": "1984",
            "amount": 1500000,
            "destinationaddress": _ACCOUNT,
        },
        answer={"txdata": _TRANSFER, "spec_version": 2003001},
    ),
    "channels.open_channels": Answered(
        schema=fields(open_hrmp_channels=items(NUMBER), sourcechain=NUMBER),
        request={"relay": "polkadot", "paraid": 2034},
        answer={"open_hrmp_channels": [1000, 2000, 2004], "sourcechain": 2034},
    ),
    "chains.list_chains": Answered(
        schema=fields(
            chains=items(
                fields(
                    name=TEXT,
                    title=TEXT,
                    role=words("relay", "asset_hub", "dex", "contracts", "parachain"),
                    relay=or_null(TEXT),
                    para_id=or_null(NUMBER),
                    symbol=TEXT,
                    decimals=NUMBER,
                    ss58_prefix=NUMBER,
                    genesis=or_null(HEX),
                    aliases=items(TEXT),
                    testnet=SWITCH,
                    spec_version=or_null(NUMBER),
                    source=or_null(words("bundled", "cached", "unconfirmed")),
                )
            )
        ),
        request={"role": "relay"},
    ),
    "queries.query_chain": Answered(
        schema=fields(result=TEXT),
        request={"chain": "polkadot", "pallet_name": "System", "method_name": "Number", "params": []},
        answer={"result": "26000000"},
    ),
    "broadcasts.broadcast": Answered(
        schema=fields(
            ("block", "block_number", "extrinsic_index", "success", "fee", "fee_paid_in", "events"),
            status={"type": "string", "const": "broadcasted"},
            hash=HEX,
            block=HEX,
            block_number=NUMBER,
            extrinsic_index=NUMBER,
            success=SWITCH,
            fee=or_null(DIGITS),
            fee_paid_in=fields(value=DIGITS, asset=TEXT, human=or_null(TEXT)),
            events=items(ANYTHING),
        ),
        request={"chain": "polkadot", "tx": _SIGNED},
        answer={"status": "broadcasted", "hash": _HASH},
    ),
    "contracts.contract_info": Answered(
        schema=fields(
            sucess=YES,
            description=items(
                fields(
                    function_name=TEXT,
                    selector={"type": "string", "pattern": "^0x[0-9a-f]{8}$"},
                    mutates=SWITCH,
                    args=items(TEXT),
                )
            ),
            onchain={"type": ["boolean", "null"]},
        ),
        request={"abiJson": {"version": "4", "spec": {}, "types": []}, "address": _ACCOUNT},
        answer={
            "sucess": True,
            "description": [{"function_name": "flip", "selector": "0x633aa551", "mutates": True, "args": []}],
            "onchain": None,
        },
    ),
    "scenarios.list_scenarios": Answered(
        schema=fields(
            scenarios=items(
                fields(
                    ("name",),
                    id=ID,
                    name=TEXT,
                    summary=TEXT,
                    chains=items(TEXT),
                    created=MOMENT,
                    size=NUMBER,
                )
            ),
            total=NUMBER,
            next=or_null(TEXT),
        ),
        request={"limit": 10, "chain": "hydraDx"},
    ),
    "scenarios.show_scenario": Answered(
        schema=fields(
            ("name",),
            id=ID,
            name=TEXT,
            summary=TEXT,
            created=MOMENT,
            nodes=items(fields(id=TEXT, type=TEXT, text=TEXT)),
            edges=items(fields(source=TEXT, target=TEXT)),
            # Those that wait for data have nothing to mend.
            problems=items(fields(("waiting",), node=TEXT, problem=TEXT, waiting=YES)),
        ),
        request={"id": "Xq3b9LmZt"},
    ),
    "scenarios.delete_scenario": Answered(
        schema=_TOLD, request={"id": "Xq3b9LmZt"}, answer={"success": True, "result": "Deleted Xq3b9LmZt"}
    ),
    "scenarios.import_scenario": Answered(
        schema=fields(success=YES, shortUrl=ID),
        request={"url": _DIAGRAM},
        answer={"success": True, "shortUrl": "Xq3b9LmZt"},
    ),
    "scenarios.export_scenario": Answered(
        schema=fields(success=YES, longUrl=TEXT),
        request={"id": "Xq3b9LmZt"},
        answer={"success": True, "longUrl": _DIAGRAM},
    ),
    "decoded_transactions.decode_transaction": Answered(
        schema=fields(
            ("signature", "offline"),
            chain=TEXT,
            form=words("extrinsic", "signed extrinsic", "call"),
            says=TEXT,
            call=_OPEN,
            call_data=HEX,
            call_hash=HEX,
            signature=_OPEN,
            **_BUILT,
        ),
        request={"tx": _REMARK, "chain": "polkadot"},
    ),
    "transaction_checks.check_transaction": Answered(
        schema=fields(chain=TEXT, **_CHECK, txdata=HEX, spec_version=NUMBER),
        request={"sender": _ACCOUNT, "tx": _REMARK, "chain": "polkadot"},
    ),
    "decoded_transactions.transaction_payload": Answered(
        schema=fields(
            ("offline",),
            chain=TEXT,
            payload=HEX,
            bytes_to_sign=HEX,
            parts=_OPEN,
            signer_payload=_OPEN,
            vault_payload=HEX,
            transaction_version=NUMBER,
            **_BUILT,
        ),
        request={"tx": _REMARK, "chain": "polkadot", "sender": _ACCOUNT, "nonce": 0},
    ),
    "signed_transactions.assemble_transaction": Answered(
        schema=fields(("offline",), chain=TEXT, tx=HEX, hash=HEX, scheme=TEXT, **_BUILT),
        request={
            "chain": "polkadot",
            "tx": _REMARK,
            "sender": _ACCOUNT,
            "nonce": 0,
            "signature": "0x" + "00" * 64,
        },
    ),
    "jobs.start_job": Answered(
        schema=_TOLD,
        request={"id": "Xq3b9LmZt", "every": "12h"},
        answer={"success": True, "result": "Job started"},
    ),
    "jobs.stop_job": Answered(
        schema=_TOLD, request={"id": "Xq3b9LmZt"}, answer={"success": True, "result": "Job stopped"}
    ),
    "jobs.run_job": Answered(
        schema=fields(success=YES, result=items(TEXT), mempool=items(ENTRY)), request={"id": "Xq3b9LmZt"}
    ),
    "jobs.list_jobs": Answered(
        schema=fields(jobs=items(_JOB), total=NUMBER, next=or_null(TEXT)), request={"state": "running"}
    ),
    "jobs.job_status": Answered(
        schema=fields(**_JOB["properties"], last_runs=items(_RUN)), request={"id": "Xq3b9LmZt"}
    ),
    "jobs.job_log": Answered(
        schema=fields(("next",), success=YES, result=items(TEXT), next=TEXT),
        request={"id": "Xq3b9LmZt"},
        answer={"success": True, "result": ["Starting worker", "workload executed", "Sleeping"]},
    ),
    "jobs.job_mempool": Answered(
        schema=fields(("next",), mempool=items(ENTRY), next=TEXT),
        request={"id": "Xq3b9LmZt"},
        answer={
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
    "webhooks.post_event": Answered(
        schema=fields(success=YES, id=NUMBER),
        request={"uuid": _UUID, "content": {"address": _ACCOUNT, "amount": 1.5}},
        answer={"success": True, "id": 17},
    ),
    "webhooks.list_events": Answered(
        schema=fields(events=items(fields(id=NUMBER, received=MOMENT, content=ANYTHING))),
        request={"uuid": _UUID},
    ),
    "webhooks.replay_event": Answered(
        schema=fields(success=YES, id=NUMBER), request={"id": 17}, answer={"success": True, "id": 18}
    ),
}

#: Of the pages: what they answer, and the type of it.
PAGE_ANSWERS: Mapping[str, tuple[Schema, str, str]] = {
    "health": (
        fields(status={"type": "string", "const": "ok"}),
        "application/json",
        "Tell that the process lives",
    ),
    "readiness": (
        fields(status={"type": "string", "const": "ready"}),
        "application/json",
        "Tell whether the store answers and the worker moves",
    ),
    "version": (
        fields(name=TEXT, version=TEXT, python=TEXT, role=words("all", "api", "worker"), offline=SWITCH),
        "application/json",
        "Tell which version runs",
    ),
    "metrics": (TEXT, "text/plain", "Figures in Prometheus' text format"),
    "openapi": (_OPEN, "application/json", "This description"),
    "docs": (TEXT, "text/html", "A page to read, of this description"),
    "events": (TEXT, "text/event-stream", "Follow what jobs log and draft (server-sent events)"),
}
