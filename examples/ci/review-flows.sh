#!/bin/sh
# Build every transaction of each flow file in flows/, and write what they do to drafts/, for people to review.
# A warning is an error (exit code 7) unless SCENARIOCTL_STRICT=0.
set -eu
export SCENARIOCTL_STRICT="${SCENARIOCTL_STRICT:-1}"
SCENARIOCTL_STORE=$(mktemp -d)/scenarios.db
export SCENARIOCTL_STORE
mkdir -p drafts

for flow in flows/*.toml; do
    name=$(basename "$flow" .toml)
    # Messages below are about this file.
    echo "== $flow" >&2
    id=$(scenarioctl create "$flow")
    scenarioctl scenario preview "$id" --output "drafts/$name.svg"
    scenarioctl scenario build "$id" --all >"drafts/$name.hex"
    : >"drafts/$name.txt"
    step=0
    while read -r tx; do
        step=$((step + 1))
        chain=$(scenarioctl scenario build "$id" --step "$step" --field source_chain)
        scenarioctl tx decode "$tx" --chain "$chain" --field says >>"drafts/$name.txt"
    done <"drafts/$name.hex"
done
head drafts/*.txt
