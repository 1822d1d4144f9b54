#!/usr/bin/env bash
# Sets up, builds and runs the main job: a verified softmax kernel where there is a GPU; without one, the same
# search built for sm_90a and ranked by resources. Output in quickstart/.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release
mkdir -p quickstart
arch=sm_90a
if build/release/bin/alphakernel devices --json | grep -q '"ordinal"'; then arch=native; fi
build/release/bin/generate_kernel --algorithm softmax --dtype bf16 --arch "$arch" --max-evaluations 60 \
  --db quickstart/alphakernel.db --output quickstart/softmax.cu "$@"
build/release/bin/alphakernel query --db quickstart/alphakernel.db \
  "SELECT status, count(*) AS variants FROM evaluations GROUP BY status ORDER BY variants DESC"
echo "Read quickstart/softmax.explanation.md for what was found and why."
