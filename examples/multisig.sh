#!/bin/sh
# Two of two signatories make one call. Each runs this on a machine of their own.
#
#   multisig.sh open    CHAIN CALL OTHER SENDER SIGN...             the first one; prints the time point, {"height": …, "index": …}
#   multisig.sh approve CHAIN CALL OTHER TIMEPOINT SENDER SIGN...   the second one; the call is made
#
#   CALL    0x hex of the call that both make, as `tx call` prints it: both need the same one
#   OTHER   the account of the other signatory; for more of them, list all others in ascending order of their public keys
#   SENDER  the account that signs here; SIGN reads `tx payload --json` and prints the signature, like ./sign.py
set -eu

here=$(dirname "$0")
step=$1 chain=$2 call=$3 other=$4
shift 4
when=null
if [ "$step" = approve ]; then
    when=$1
    shift
fi
sender=$1
shift

# What the call may cost when it is made. More than it needs is fine.
weight='{"ref_time": 2000000000, "proof_size": 100000}'
tx=$(scenarioctl tx call "$chain" Multisig as_multi 2 "[\"$other\"]" "$when" "$call" "$weight")
sent=$("$here/send.sh" "$chain" "$tx" "$sender" "$@")
if [ "$step" = open ]; then
    echo "$sent" | python3 -c 'import json, sys; sent = json.load(sys.stdin); print(json.dumps({"height": sent["block_number"], "index": sent["extrinsic_index"]}))'
else
    echo "$sent"
fi
