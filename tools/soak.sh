#!/usr/bin/env bash
# The long versions of what CI samples, in stages. Hours, not minutes: tools/soak.sh --help.
set -euo pipefail
cd "$(dirname "$0")/.."

# name | what it does | what it takes: hours on 2 cores with the defaults, estimated from the tests in CI, and what has to be
# installed
stages=(
  "tests|every test, ROUNDS times, with AK_FUZZ_ITERATIONS random inputs in random tests|8 h"
  "kills|processes killed AK_SOAK_ITERATIONS times in each way, ROUNDS times|4 h"
  "slurm|AK_SOAK_ITERATIONS parts of a session in a Slurm of AK_SLURM_NODES virtual nodes (4) killed: workers, search, daemons|3 h; apt-get, python3"
  "fleet|what a search costs that has 64 workers of 0.3 evaluations a second each, which answer recorded results|1 h; python3"
  "asan|every test under the address and undefined-behaviour sanitizers|3 h"
  "tsan|the tests of what has threads under the thread sanitizer: agent, db, runtime, app, serve, tools|3 h"
  "fuzz|libFuzzer on each reader of foreign text for SECONDS seconds|2 h; clang"
  "exploits|every exploit: stopped by its gate, and successful without it; every honest look-alike; every audit|1 h; python3"
  "headers|every header compiled alone|1 h"
  "tidy|clang-tidy over every source|3 h; clang-tidy"
  "coverage|the tests, counting the lines that run; ends with a table by folder|2 h; python3"
)

usage() {
  cat <<'TEXT'
usage: tools/soak.sh [--stage NAME]... [--resume] [--rounds N] [--seconds N] [--build FOLDER] [--jobs N] [--list]

Runs the stages that are named, else all of them, in the order of the table. A stage that fails does not keep the next
ones from running. Each ends with one line to record; build/soak/ has these lines (record.txt) and the output of each stage
(AK_SOAK_RECORDS: another folder).

  --resume        pass over stages that have passed at this commit
  --rounds N      of the stages tests and kills (3)
  --seconds N     for each target of the stage fuzz (60)
  --build FOLDER  whose tests the stages tests, kills and exploits run (build/release); it has to be built
  --jobs N        compilers and tests at once (as many as cores)
  --list          only the names of the stages

AK_SOAK_ITERATIONS: kills of each kind and round (1000). AK_FUZZ_ITERATIONS: random inputs of each random test (2000000).
SOAK_TESTS: a regular expression; the stages tests, asan and tsan run only the tests whose names match it.

TEXT
  printf '%-9s  %s\n' stage "what it does (what it takes)"
  local row name what takes
  for row in "${stages[@]}"; do
    IFS='|' read -r name what takes <<<"$row"
    printf '%-9s  %s (%s)\n' "$name" "$what" "$takes"
  done
}

names() { printf '%s\n' "${stages[@]%%|*}"; }

refuse() {
  echo "soak: $1" >&2
  exit 2
}

chosen=() resume=no rounds=3 seconds=60 build=build/release jobs=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --list) names; exit 0 ;;
    --resume) resume=yes; shift; continue ;;
    --stage | --rounds | --seconds | --build | --jobs) [ $# -ge 2 ] || refuse "$1 needs a value" ;;
    *) refuse "unknown argument '$1'; --help shows all" ;;
  esac
  case $1 in
    --stage)
      names | grep -x -- "$2" > /dev/null || refuse "no stage is called '$2'; expected one of: $(names | tr '\n' ' ')"
      chosen+=("$2")
      ;;
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --build) build=$2 ;;
    --jobs) jobs=$2 ;;
  esac
  shift 2
done
[ ${#chosen[@]} -gt 0 ] || mapfile -t chosen < <(names)

records=${AK_SOAK_RECORDS:-build/soak}
mkdir -p "$records"
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
# What is not a commit may have changed since a stage passed.
git diff --quiet HEAD 2>/dev/null || commit+=+changes

run_tests() { ctest --test-dir "$1" --parallel "$jobs" --no-tests=error --output-on-failure --timeout 14400 "${@:2}"; }

# The tests of a preset's build, of the programs that are named after it, or all.
run_preset() {
  local preset=$1 targets=("${@:2}")
  cmake --preset "$preset" >/dev/null && cmake --build --preset "$preset" --parallel "$jobs" ${targets[0]+--target "${targets[@]}"}
}

in_rounds() {
  local round
  for ((round = 1; round <= rounds; ++round)); do
    echo "round $round of $rounds"
    "$@" || return
  done
}

# Tables are tried whole; kills are about as many as in CI.
stage_tests() {
  # What nobody builds else must still compile.
  if [ -f "$build/build.ninja" ]; then cmake --build "$build" --parallel "$jobs" --target by_hand || return; fi
  AK_SOAK_ITERATIONS=12 AK_FUZZ_ITERATIONS=${AK_FUZZ_ITERATIONS:-2000000} in_rounds run_tests "$build" -R "${SOAK_TESTS:-.}"
}
stage_kills() {
  AK_SOAK_ITERATIONS=${AK_SOAK_ITERATIONS:-1000} in_rounds run_tests "$build" -V -R '^(faults_test|session_kill_test)$'
}
stage_slurm() {
  AK_SOAK_ITERATIONS=1 "$build/tests/slurm/slurm_tests" -# "[#slurm_test]" -w NoTests
  python3 tests/slurm/random_kills.py "$build/bin/alphakernel" --kills "${AK_SOAK_ITERATIONS:-1000}" \
    --nodes "${AK_SLURM_NODES:-4}" --csv "$records/slurm.csv"
}
stage_fleet() {
  python3 tests/benchmarks/fleet_load.py "$build/bin/alphakernel" --csv "$records/fleet.csv"
}
stage_asan() {
  run_preset asan && run_tests build/asan -R "${SOAK_TESTS:-.}"
}
stage_tsan() {
  run_preset tsan agent_tests db_tests device_runtime_test runtime_worker_test app_tests serve_tests tools_tests || return
  local tests='^(agent|llm|db|device_runtime|runtime_worker|library|operations|dashboard|mcp|stdio|cli|session|tune)_test$'
  run_tests build/tsan -R "${SOAK_TESTS:-$tests}"
}
stage_fuzz() {
  run_preset fuzz || return
  local target broken=0
  for target in $(ls tests/fuzz/corpus) ptx_run; do
    echo "fuzz: $target"
    mkdir -p "$records/found/$target"
    "build/fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$records/found/broken_${target}_" \
      "$records/found/$target" "tests/fuzz/corpus/${target/ptx_run/ptx}" || broken=1
  done
  return $broken
}
stage_exploits() { AK_SOAK_ITERATIONS=12 run_tests "$build" -V -R '^(exploit_test|exploits_proved|audit_test)$'; }
stage_headers() { run_preset headers; }
stage_tidy() { run_preset tidy; }
stage_coverage() {
  run_preset coverage && run_tests build/coverage && python3 scripts/coverage.py build/coverage --folders
}

# The figures of a stage's output that its line has.
figures_of() {
  case $1 in
    fleet) grep -oE 'fleet: .*' "$2" | tail -1 ;;
    slurm) grep -oE 'slurm: .*' "$2" | tail -1 ;;
    kills) grep -oE '(orchestrators|workers) killed: .*' "$2" | tail -2 ;;
    fuzz) grep -oE 'number_of_executed_units: [0-9]+' "$2" | awk '{ sum += $2 } END { print NR " targets, " sum " inputs" }' ;;
    coverage) grep -E '^\| `all`' "$2" | tail -1 ;;
    *) grep -oE '[0-9]+% tests passed, .* out of [0-9]+' "$2" | tail -1 ;;
  esac | paste -sd ';' - || true
}

# Runs a stage, whose output goes to its log; prints and records one line.
run_stage() {
  local name=$1 log=$records/$1.log begin=$SECONDS verdict=passed line
  echo "soak: stage $name begins; its output is in $log"
  # `set -e` does not hold in a command whose failure is looked at: stages say themselves what ends them.
  "stage_$name" >"$log" 2>&1 || verdict=FAILED
  line="soak: $commit, stage $name, $((SECONDS - begin)) s on $(nproc) cores: $verdict"
  line+=$(figures_of "$name" "$log" | sed 's/^\(.\)/ (\1/; s/\(.\)$/\1)/')
  echo "$line" | tee -a "$records/record.txt"
  [ $verdict = passed ] && return 0
  tail -n 40 "$log"
  return 1
}

has_passed() { grep -qs "^soak: $commit, stage $1, .*: passed" "$records/record.txt"; }

failed=()
for stage in "${chosen[@]}"; do
  if [ $resume = yes ] && [[ $commit != *changes ]] && has_passed "$stage"; then
    echo "soak: stage $stage has passed at $commit"
  else
    run_stage "$stage" || failed+=("$stage")
  fi
done
[ ${#failed[@]} -eq 0 ] || { echo "soak: FAILED: ${failed[*]}"; exit 1; }
