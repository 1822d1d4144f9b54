#!/usr/bin/env bash
# The long version of the tests that CI only samples: fuzzing, kill -9 loops, repeats. Hours, not minutes.
#   tools/soak.sh [BUILD_FOLDER, default build/release] [ROUNDS, default 3]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
rounds=${2:-3}
# Random tests: changed PTX on the CPU device (hostile_test.cpp) among them, best in a build with AK_SANITIZE.
export AK_FUZZ_ITERATIONS=${AK_FUZZ_ITERATIONS:-2000000}
export AK_SOAK_ITERATIONS=${AK_SOAK_ITERATIONS:-500}
for ((round = 1; round <= rounds; ++round)); do
  echo "soak: round $round of $rounds"
  ctest --test-dir "$build" --output-on-failure --no-tests=error --timeout 7200
done
