#!/bin/sh
# sign-subkey.sh < payload.json: sign what `scenarioctl tx payload --json` printed, with subkey, and print the signature.
#
# The mnemonic or URI of the key is in the file that SIGNER_KEY_FILE names (chmod 600): subkey reads it from there, and other users
# of the machine can't see it. For an ed25519 key set SIGNER_SCHEME=ed25519.
set -eu

# --hex: the bytes themselves are signed, not their hex as text.
message=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["bytes_to_sign"])')
exec subkey sign --scheme "${SIGNER_SCHEME:-sr25519}" --suri "$SIGNER_KEY_FILE" --hex --message "$message"
