#!/usr/bin/env bash
# Records what a GPU answers to the differential tests of the CPU device; see ptx_differential --help.
#   tools/record_differential.sh [FOLDER, default tests/runtime/ptx/differential/answers]
# Run it on a machine with a Hopper GPU after a change of the cases, from a built tree
# (PTX_DIFFERENTIAL=path of ptx_differential, default build/release/tests/runtime/ptx/ptx_differential).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-tests/runtime/ptx/differential/answers}
program=${PTX_DIFFERENTIAL:-build/release/tests/runtime/ptx/ptx_differential}
"$program" record "$folder"
"$program" compare "$folder"
