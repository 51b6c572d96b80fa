#!/usr/bin/env python3
"""sign.py < payload.json: sign what `scenarioctl tx payload --json` printed, and print the
signature.

The mnemonic or URI of an sr25519 key is in SIGNER_KEY. Needs: pip install substrate-interface
"""

import json
import os
import sys

from substrateinterface import Keypair

payload = json.load(sys.stdin)
key = Keypair.create_from_uri(os.environ["SIGNER_KEY"])
print(f"{key.ss58_address} signs: {payload['says']}", file=sys.stderr)
# The payload itself, or its hash if it is longer than 256 bytes.
print("0x" + key.sign(bytes.fromhex(payload["bytes_to_sign"][2:])).hex())
