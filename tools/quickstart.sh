#!/usr/bin/env bash
# Sets up, builds the programs and runs the main job: a verified softmax kernel. Without a GPU the candidates for sm_90a
# run on the CPU emulator, where results are checked and costs are estimates. Output in quickstart/.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh programs
cmake --preset release -DBUILD_TESTING=OFF >/dev/null
cores=$(nproc)
# CPU time of a build without a compiler cache (docs/building.md).
echo "quickstart: building the programs on $cores cores: about $((16 / cores + 1)) minutes the first time (2.5 GHz, no compiler cache)"
cmake --build --preset release
mkdir -p quickstart
build/release/bin/generate_kernel --algorithm softmax --dtype bf16 --max-evaluations 60 \
  --db quickstart/alphakernel.db --output quickstart/softmax.cu "$@"
