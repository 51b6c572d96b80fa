#!/bin/sh
# pay.sh CHAIN ASSET AMOUNT RECEIVER SENDER SIGN...: pay whole tokens, from the scenario to the block.
#
# Example: SIGNER_KEY='word word …' ./pay.sh assetHub DOT 1.5 14E5nq… 15oF4u… ./sign.py
set -eu

here=$(dirname "$0")
chain=$1 asset=$2 amount=$3 receiver=$4 sender=$5
shift 5

id=$(scenarioctl create transfer --from "$chain" --to "$chain" --asset "$asset" --amount "$amount" \
    --to-address "$receiver")
tx=$(scenarioctl scenario build "$id" --field result.tx)
"$here/send.sh" "$chain" "$tx" "$sender" "$@"
