#!/bin/sh
# proxy.sh CHAIN CALL REAL SENDER SIGN...: make a call as the account REAL, of which SENDER is a proxy.
#
#   CALL  0x hex, as `tx call` prints it
#   SIGN  reads the JSON of `tx payload` on stdin and prints the signature, like ./sign.py
set -eu

here=$(dirname "$0")
chain=$1 call=$2 real=$3 sender=$4
shift 4

# null: any kind of proxy that may make this call.
tx=$(scenarioctl tx call "$chain" Proxy proxy "$real" null "$call")
"$here/send.sh" "$chain" "$tx" "$sender" "$@"
