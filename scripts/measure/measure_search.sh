#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Replays the search strategies over a folder of published brute-forced spaces, and says how they compare.
#   scripts/measure/measure_search.sh SPACES_FOLDER OUT [REPEATS]
# SPACES_FOLDER holds Kernel Tuner caches KERNEL__DEVICE.json (also .gz, .xz) and definitions T1_*.json.
# OUT gets the full results as JSON, table.csv, summary.csv, curves.svg and spaces.txt. 100 repeats take about half an hour of one core.
set -euo pipefail
folder=${1:?usage: scripts/measure/measure_search.sh SPACES_FOLDER OUT [REPEATS]} out=${2:?OUT is missing}
repeats=${3:-100}
ak=${AK:-build/release/bin/alphakernel}
mapfile -t spaces < <(find "$folder" -name '*__*.json*' ! -name '*_T4*' ! -name 'ktt_*' | sort)
mkdir -p "$out"

"$ak" simulate "${spaces[@]}" --strategy portfolio,bayesian,random --repeats "$repeats" --compile-workers 16 \
  --picture "$out/curves.svg" --json >"$out/leaders.json"
# The others are there to be compared with, and long runs to see what a proposal costs: fewer repeats do.
"$ak" simulate "${spaces[@]}" --repeats $((repeats / 4)) --json --strategy \
  forest,local-search,multi-start,annealing,genetic,differential-evolution,particle-swarm,tabu >"$out/others.json"
"$ak" simulate "${spaces[@]}" --strategy portfolio,bayesian --repeats 1 --budget 2200 --json >"$out/long.json"
build/release/tests/benchmarks/space_benchmark "$folder"/T1_*.json >"$out/spaces.txt"
python3 scripts/measure/summarize_search.py "$out"
