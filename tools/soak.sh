#!/usr/bin/env bash
# The long version of the tests that CI only samples: fuzzing, kill -9 loops, repeats. Hours, not minutes.
#   tools/soak.sh [BUILD_FOLDER, default build/release] [ROUNDS, default 3]
# AK_SOAK_ITERATIONS: kills of each kind and round; AK_FUZZ_ITERATIONS: random inputs; SOAK_TESTS: only the tests whose
# name matches, e.g. SOAK_TESTS=faults_test. Ends with one line to record, and "soak: FAILED" on a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
rounds=${2:-3}
# Random tests: changed PTX on the CPU device (hostile_test.cpp) among them, best in a build with AK_SANITIZE.
export AK_FUZZ_ITERATIONS=${AK_FUZZ_ITERATIONS:-2000000}
export AK_SOAK_ITERATIONS=${AK_SOAK_ITERATIONS:-1000}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
start=$SECONDS
for ((round = 1; round <= rounds; ++round)); do
  echo "soak: round $round of $rounds"
  ctest --test-dir "$build" -V --no-tests=error --timeout 14400 -R "${SOAK_TESTS:-.}" >"$log" 2>&1 || {
    cat "$log"
    echo "soak: FAILED in round $round of $rounds after $((SECONDS - start)) s"
    exit 1
  }
  grep -oE "(orchestrators|workers) killed: .*" "$log" || true
done
echo "soak: $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $rounds rounds of $AK_SOAK_ITERATIONS kills of each" \
  "kind and $AK_FUZZ_ITERATIONS random inputs, $((SECONDS - start)) s on $(nproc) cores: passed"
