#!/bin/sh
# send.sh CHAIN TX SENDER SIGN...: sign an unsigned transaction with the command SIGN, and wait until it is in a block.
#
#   TX      0x hex of an unsigned transaction, such as `tx call` and `scenario build --field result.tx` print
#   SENDER  the account that signs
#   SIGN    reads the JSON of `tx payload` on stdin and prints the signature, like ./sign.py
#
# stdout is the JSON of `tx send`. What is signed, and how far it got, is on stderr.
set -eu

chain=$1 tx=$2 sender=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Online: the nonce, the block and the metadata hash come from the chain. The signature expires after 64 blocks.
scenarioctl tx payload "$tx" --chain "$chain" --sender "$sender" --json > "$folder/payload.json"
"$@" < "$folder/payload.json" > "$folder/signature"
# This refuses a signature that doesn't fit.
scenarioctl tx assemble --payload "$folder/payload.json" --signature "$(cat "$folder/signature")" > "$folder/signed.txt"
scenarioctl tx send "$chain" - --wait in-block --json < "$folder/signed.txt"
