#!/usr/bin/env bash
# Sets up, builds and runs all tests. Tests that need a GPU say so and are skipped without one.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh
bash tools/check_format.sh
cmake --preset release >/dev/null
cmake --build --preset release
ctest --preset release --parallel "$(nproc)" "$@"
