"""The comparison: the same teleport composed with the whole of SubstrateInterface, metadata from
loopback.

It reads metadata up to V14 only, hence an older Polkadot runtime than ours.
"""

from pathlib import Path

from tests.node import Node

METADATA = (
    Path(__file__).resolve().parent.parent
    / "tests"
    / "data"
    / "metadata"
    / "polkadot-1002005.v14.scale"
)


def main() -> None:
    version = {
        "specName": "polkadot",
        "specVersion": 1002005,
        "transactionVersion": 26,
        "implVersion": 0,
        "apis": [],
    }
    answers = {
        "rpc_methods": {"methods": []},
        "system_chain": "Polkadot",
        "system_properties": {"ss58Format": 0, "tokenDecimals": 10, "tokenSymbol": "DOT"},
        "chain_getHead": "0x" + "11" * 32,
        "chain_getBlockHash": "0x" + "11" * 32,
        "chain_getHeader": {"parentHash": "0x" + "22" * 32, "number": "0x1"},
        "state_getRuntimeVersion": version,
        "chain_getRuntimeVersion": version,
        "state_getMetadata": "0x" + METADATA.read_bytes().hex(),
    }
    with Node(answers) as node:
        from substrateinterface import SubstrateInterface

        substrate = SubstrateInterface(url=node.url)
        bob = "0x8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48"
        junction = {"AccountId32": {"network": None, "id": bob}}
        call = substrate.compose_call(
            "XcmPallet",
            "limited_teleport_assets",
            {
                "dest": {"V4": {"parents": 0, "interior": {"X1": [{"Parachain": 1000}]}}},
                "beneficiary": {"V4": {"parents": 0, "interior": {"X1": [junction]}}},
                "assets": {
                    # scalecodec wants a list around a tuple of one.
                    "V4": [
                        [
                            {
                                "id": {"parents": 0, "interior": "Here"},
                                "fun": {"Fungible": 12345678900},
                            }
                        ]
                    ]
                },
                "fee_asset_item": 0,
                "weight_limit": "Unlimited",
            },
        )
        print(call.data.to_hex())
        substrate.close()


if __name__ == "__main__":
    main()
