#!/usr/bin/env bash
# Records what a GPU answers to the differential tests of the CPU device; see ptx_differential --help.
#   scripts/measure/record_differential.sh [FOLDER, default tests/emulator/differential/answers]
# Run it on a machine with a Hopper GPU after a change of the cases, from a built tree
# (PTX_DIFFERENTIAL=path of ptx_differential, default build/release/tests/emulator/ptx_differential).
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:-tests/emulator/differential/answers}
program=${PTX_DIFFERENTIAL:-build/release/tests/emulator/ptx_differential}
"$program" record "$folder"
"$program" compare "$folder"
