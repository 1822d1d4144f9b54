#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Profiles every kernel of tests/profiles on this machine's GPU and compares the bottleneck that is named with
# the one that it was written to have: scripts/measure/name_bottlenecks.sh OUTPUT_FOLDER [FLAGS OF alphakernel profile ...]
# Writes into the folder: NAME.json (what the program printed), recorded.json (to be kept under
# tests/profiler/recorded, where the rules are tried again without a GPU) and bottlenecks.csv, and prints that as
# a table. Exits with 1 when a name is wrong. AK: the program; ONLY: a part of the names of kernels.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
output=${1:?usage: scripts/measure/name_bottlenecks.sh OUTPUT_FOLDER [FLAGS OF alphakernel profile ...]}
shift
mkdir -p "$output"
export ALPHAKERNEL_DB=$output/profiles.db
exec python3 "$root/scripts/measure/name_bottlenecks.py" --program "${AK:-$root/build/release/bin/alphakernel}" \
  --only "${ONLY:-}" "$output" "$@"
