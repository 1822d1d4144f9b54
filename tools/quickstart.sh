#!/usr/bin/env bash
# Sets up, builds the program and runs the main job: a verified softmax kernel. Without a GPU the candidates for
# sm_90a run on the CPU emulator, where results are checked and costs are estimates. Output in quickstart/.
#   tools/quickstart.sh [flags of generate_kernel, instead of --max-evaluations 24]
#   tools/quickstart.sh --programs FOLDER [flags]    with programs that are built already: an unpacked archive's bin/
set -euo pipefail
cd "$(dirname "$0")/.."
programs=build/release/bin
if [ "${1:-}" = --programs ]; then
  programs=${2:?quickstart: expected a folder after --programs}
  [ -x "$programs/generate_kernel" ] || { echo "quickstart: $programs has no program generate_kernel" >&2; exit 2; }
  shift 2
else
  cores=$(nproc)
  # CPU time of packages and build without a compiler cache: 11 minutes at 2.5 GHz (docs/building.md).
  echo "quickstart: packages, then the build on $cores cores: about $((11 / cores + 1)) minutes the first time; then the search, a minute without a GPU"
  bash tools/setup.sh programs
  cmake --preset release -DBUILD_TESTING=OFF >/dev/null
  # Without what the program does not need: the library, man pages, shell completion.
  TIMEFORMAT="quickstart: built in %R s, with %U s of CPU time"
  time cmake --build --preset release --target alphakernel
fi
[ $# -gt 0 ] || set -- --max-evaluations 24
echo "quickstart: searching for a softmax kernel ($*)"
mkdir -p quickstart
"$programs/generate_kernel" --algorithm softmax --dtype bf16 --db quickstart/alphakernel.db --output quickstart/softmax.cu "$@"
echo "quickstart: docs/tutorials/first_kernel.md goes on from here; the programs are in $programs"
