# The main job, offline, on the bundled runtimes of Polkadot, Asset Hub and Hydration.
set -eu
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
export SCENARIOCTL_STORE="$store/scenarios.db" SCENARIOCTL_OFFLINE=1
bob=14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3

say() { printf '\n\033[1m%s\033[0m\n' "$1"; }
run() { printf '$ %s\n' "$*"; "$@"; }

say "1. A transfer scenario: 1.5 DOT from the relay chain to Asset Hub"
printf '$ scenarioctl create transfer --from polkadot --to assetHub --asset DOT --amount 1.5 --to-address %s\n' "$bob"
transfer=$(scenarioctl create transfer --from polkadot --to assetHub --asset DOT --amount 1.5 --to-address "$bob")
echo "$transfer"
run scenarioctl scenario info "$transfer"

say "2. Its unsigned transaction, as a wallet reads it"
run scenarioctl scenario build "$transfer" --field tx

say "3. The same bytes, decoded again"
run scenarioctl tx decode "$(scenarioctl scenario build "$transfer" --field tx)" --chain polkadot
run scenarioctl tx decode "$(scenarioctl scenario build "$transfer" --field tx)" --chain polkadot --field says

say "4. A swap scenario: 2 DOT for at least 900 HDX on Hydration"
printf '$ scenarioctl create swap --sell DOT --buy HDX --amount 2 --min-amount-out 900000000000000\n'
swap=$(scenarioctl create swap --sell DOT --buy HDX --amount 2 --min-amount-out 900000000000000)
echo "$swap"
run scenarioctl scenario info "$swap"
run scenarioctl tx decode "$(scenarioctl scenario build "$swap" --field tx)" --chain hydraDx
run scenarioctl tx decode "$(scenarioctl scenario build "$swap" --field tx)" --chain hydraDx --field says

say "5. What is stored"
run scenarioctl scenario list
run scenarioctl template stats hydraDx

say "Nothing was signed and nothing was sent: scenarioctl holds no keys."
