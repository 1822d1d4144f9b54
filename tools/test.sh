#!/usr/bin/env bash
# Sets up, builds and runs all tests. Tests that need a GPU say so and are skipped without one.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh
bash tools/setup.sh python
bash tools/check_format.sh
werror=OFF
[ -n "${CI:-}" ] && werror=ON
cmake --preset release -DBUILD_TESTING=ON -DAK_WERROR=$werror >/dev/null
cmake --build --preset release
python3 scripts/build_times.py build/release --budget
# From a cold disk PyTorch's libraries take longer to read than a reference process waits for them.
/usr/bin/python3 -c 'import torch' 2>/dev/null || true
# Many tests wait for processes, clocks and files: half as many again as there are cores keep these busy.
ctest --preset release --parallel "$((($(nproc) * 3 + 1) / 2))" "$@"
