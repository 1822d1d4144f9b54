#!/usr/bin/env bash
# Sets up, builds and runs the main job: a verified softmax kernel. Without a GPU the candidates for sm_90a run on the
# CPU emulator, where results are checked and costs are estimates. Output in quickstart/.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release
mkdir -p quickstart
build/release/bin/generate_kernel --algorithm softmax --dtype bf16 --max-evaluations 60 \
  --db quickstart/alphakernel.db --output quickstart/softmax.cu "$@"
