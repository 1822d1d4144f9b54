#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures attention on one GPU, part by part, each next to its rivals in turns: the experiments attention_PART, then
# their best kernels against PyTorch's attention (FlashAttention-2, cuDNN). When its time is over it ends, and goes on
# where it was when it is called again with the same folder.
#
#   bash scripts/measure/measure_attention.sh OUTPUT_FOLDER [PART...]
#
# Parts: forward decode paged mla fp8 backward sparse variants (default: all, one after the other).
# Leaves OUTPUT_FOLDER/PART with the experiment's folder and, small enough to commit, best.csv (the best points of each
# run), turns.csv (ratios in turns) and failures.csv.
# AK: the program, or the folder that it was installed to (build/release/bin/alphakernel). LIMIT_S: seconds that a call
# may take (480). RUN_MINUTES: of a search (0.35). DEVICE: where (cuda); FLAGS: more flags of `experiment run`.
# SHARE: "0/2" for every second run from the first on, "1/2" for the others, on another GPU, each with an output folder of
# its own; without the expectations.
# PYTHON: an interpreter with PyTorch for the turns (python3; "none" leaves them out).
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 1 ] || { sed -n '3,18s/^# \{0,1\}//p' "$0"; exit 2; }
program=${AK:-$root/build/release/bin/alphakernel}
[ -d "$program" ] && program=$program/bin/alphakernel
[ -x "$program" ] || { echo "there is no program $program; set AK" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) && shift
limit_s=${LIMIT_S:-480} run_minutes=${RUN_MINUTES:-0.35} device=${DEVICE:-cuda} python=${PYTHON:-python3}
export ALPHAKERNEL_TEMPLATES=${ALPHAKERNEL_TEMPLATES:-$root/templates} ALPHAKERNEL_CACHE=${ALPHAKERNEL_CACHE:-${TMPDIR:-/tmp}/alphakernel_attention}
export ALPHAKERNEL_CONFIG=${ALPHAKERNEL_CONFIG:-$out/none.json} PATH=$PATH:/usr/local/cuda/bin
share=${SHARE:-0/1}
[[ $share =~ ^[0-9]+/[1-9][0-9]*$ && ${share%/*} -lt ${share#*/} ]] || { echo "SHARE=$share: expected one such as 0/2 or 1/2" >&2; exit 2; }
[ "$python" = none ] || export ALPHAKERNEL_PYTHON=$python
readonly turns_s=40  # of one kernel with two baselines: two processes start PyTorch, and both draw inputs
readonly run_s=20    # of one run

# Runs whose best kernel takes turns with PyTorch, by part; forward has cuDNN in its own process already.
declare -A in_turns=(
  [forward]="gpt2_small_causal glm47_flash_causal hdim128_bf16_full_2k"
  [decode]="b8_4k b1_32k b64_1k"
  [paged]="pages_of_16"
  [backward]="d64_causal d64_any_order d128_causal d128_full d128_any_order d128_grouped d128_grouped_any_order d64_1k_any_order"
)

say() { printf '%4ss  %s\n' $SECONDS "$*"; }
left() { echo $((limit_s - SECONDS)); }

status_of() {  # FOLDER: complete, interrupted, failed, or none where there is no report
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["status"])' "$1/report.json" 2> /dev/null || echo none
}

ask() {  # PART SQL: as CSV
  "$program" query --db "$out/$1/experiment.db" --limit 0 --format csv "$2"
}

write_tables() {  # PART
  ask "$1" "
    SELECT run, workload, place, template, tunables, us, tflops, gbps FROM (
      SELECT replace(replace(substr(s.command, instr(s.command, '--output ') + 9), '.cu', ''), ' --unaudited', '') AS run,
             b.workload, b.template, b.tunables, round(b.latency_ms * 1000, 2) AS us,
             round(b.throughput_tflops, 1) AS tflops, round(b.memory_bandwidth_gbs) AS gbps, b.search,
             row_number() OVER (PARTITION BY b.search, b.workload ORDER BY b.latency_ms) AS place
      FROM benchmark_results b JOIN searches s ON s.id = b.search WHERE b.status = 'ok' AND b.cold = 1)
    WHERE place <= 6 ORDER BY search, workload, place" > "$out/$1/best.csv"
  ask "$1" "
    SELECT definition, workload, baseline, times, round(speedup, 4) AS speedup, round(low, 4) AS low, round(high, 4) AS high,
           round(kernel_us, 2) AS kernel_us, round(baseline_us, 2) AS baseline_us, search
    FROM baseline_turns ORDER BY search, workload, baseline, times" > "$out/$1/turns.csv"
  ask "$1" "SELECT search, template, tunables, status, stage, substr(message, 1, 900) AS message FROM failures" \
    > "$out/$1/failures.csv"
}

search_of() {  # PART RUN: the number of its search, of a kernel that is right
  "$program" query --db "$out/$1/experiment.db" --limit 0 --format csv "
    SELECT max(b.search) FROM best_variants b WHERE b.command LIKE '%--output $2.cu%'" | tail -n 1 | tr -d '\r'  # of CSV
}

take_turns() {  # PART
  [ "$python" != none ] && [ "$device" = cuda ] || return 0
  local run search
  for run in ${in_turns[$1]:-}; do
    [ -e "$out/$1/$run.turns.json" ] && continue
    [ "$(left)" -gt $turns_s ] || { say "$1: no time for the turns of $run"; return 1; }
    search=$(search_of "$1" "$run")
    [ -n "$search" ] || { say "$1: $run has no kernel"; continue; }
    "$program" baselines "search:$search" --db "$out/$1/experiment.db" --baselines eager,cudnn --rounds 12 --no-libraries \
      --unaudited --json > "$out/$1/$run.turns.json.tmp" 2> "$out/$1/$run.turns.log" || { say "$1: turns of $run: exit code $?"; continue; }
    mv "$out/$1/$run.turns.json.tmp" "$out/$1/$run.turns.json"
    say "$1: turns of $run taken"
  done
}

left_for_runs() {  # PART MANIFEST: without what its turns will take, so that a long search does not cost the comparison
  local run missing=0
  [ "$python" = none ] || [ "$device" != cuda ] || for run in ${in_turns[$1]:-}; do
    ! grep -q "\"$run\"" "$2" || [ -e "$out/$1/$run.turns.json" ] || missing=$((missing + 1))
  done
  echo $(($(left) - missing * turns_s))
}

manifest_of() {  # PART: its experiment, or a file with this share of its runs
  local all=$root/experiments/attention_$1.json
  [ "$share" != 0/1 ] || { echo "$all"; return; }
  mkdir -p "$out/share"  # a manifest has the name of its file
  python3 - "$all" "${share%/*}" "${share#*/}" > "$out/share/attention_$1.json" << 'END'
import json, sys
manifest = json.load(open(sys.argv[1]))
manifest["runs"], manifest["expectations"] = manifest["runs"][int(sys.argv[2])::int(sys.argv[3])], []
print(json.dumps(manifest))
END
  echo "$out/share/attention_$1.json"
}

measure() {  # PART
  local folder=$out/$1 code manifest
  manifest=$(manifest_of "$1")
  while [ "$(status_of "$folder")" != complete ] && [ "$(left_for_runs "$1" "$manifest")" -gt $run_s ]; do
    local resume=()
    [ -e "$folder/manifest.json" ] && resume=(--resume)
    timeout -s INT "$(left_for_runs "$1" "$manifest")" "$program" experiment run "$manifest" --output "$folder" \
      "${resume[@]}" --runs "${RUNS:-2}" --device "$device" --max-minutes "$run_minutes" --unaudited -q ${FLAGS:-} \
      >> "$out/$1.log" 2>&1
    code=$?
    case $code in
      0 | 4 | 8) [ "$(status_of "$folder")" != failed ] || break ;;  # all runs done, or as many as were asked for
      *) say "$1: exit code $code; the end of its log:"; tail -n 3 "$out/$1.log"; break ;;
    esac
  done
  say "$1: $(status_of "$folder")"
  take_turns "$1"
  [ ! -e "$folder/experiment.db" ] || write_tables "$1"
  say "$1: done"
}

nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader 2> /dev/null
[ $# -gt 0 ] || set -- forward decode paged mla fp8 backward sparse variants
for part; do
  [ "$(left)" -gt $run_s ] || { say "$part: no time"; continue; }
  measure "$part"
done
