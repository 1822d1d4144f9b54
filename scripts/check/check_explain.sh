#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Explains, compares and ports kernels on a GPU: evidence by pairs and by counters, which the CPU device has none of.
# Usage: scripts/check/check_explain.sh [build folder] [folder for results]; some five minutes.
set -euo pipefail
program=$(realpath "${1:-build/release}")/bin/alphakernel
out=${2:-$(mktemp -d)}
mkdir -p "$out"
export ALPHAKERNEL_DB=$out/ak.db ALPHAKERNEL_CACHE=$out/cache ALPHAKERNEL_CONFIG=$out/config.json

"$program" generate -q --algorithm softmax --max-minutes 1 --output "$out/softmax.cu"
"$program" explain "$out/softmax.cu" --ablate --markdown >"$out/softmax.md"
grep -q 'timed alternately with it' "$out/softmax.md" # an ablation is paired
grep -q 'by hardware counters' "$out/softmax.md"   # the run's own profile is found again
grep -q 'floor / median is' "$out/softmax.md"

mapfile -t best < <("$program" query --format csv \
  "SELECT variant FROM leaderboard WHERE device_kind = 'cuda' GROUP BY variant ORDER BY min(place) LIMIT 2" | tail -n +2 | tr -d '\r')
"$program" compare "${best[0]}" "${best[1]}" --device cuda | tee "$out/compare.txt"
grep -q 'timed alternately' "$out/compare.txt"

"$program" generate -q --from "$out/softmax.cu" --dtype float16 --max-minutes 1 --output "$out/ported.cu" | tee "$out/port.txt"
grep -q 'times as fast as there' "$out/port.txt"
"$program" explain "$out/ported.cu"
echo "all is as expected; results are in $out"
