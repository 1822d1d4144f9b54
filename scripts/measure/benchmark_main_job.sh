#!/usr/bin/env bash
# Measures the main job on a GPU machine: time to the first verified kernel, variants an hour, where the time goes,
# memory, and the best kernels against the copy bandwidth of the same run.
#   scripts/measure/benchmark_main_job.sh OUTPUT_FOLDER [SECONDS_OF_THE_THROUGHPUT_RUN, default 120]
# Needs a built tree (AK=path of alphakernel, default build/release/bin/alphakernel). Changes no setting of the card.
set -euo pipefail
out=${1:?usage: scripts/measure/benchmark_main_job.sh OUTPUT_FOLDER [SECONDS]}
seconds=${2:-120}
ak=${AK:-build/release/bin/alphakernel}
mkdir -p "$out"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export ALPHAKERNEL_CACHE=$scratch/cache ALPHAKERNEL_CONFIG=$scratch/none.json
minutes() { awk -v s="$1" 'BEGIN{print s/60}'; }
generate() { "$ak" generate --arch native --seed 1 --db "$1" --output "$scratch/$2.cu" --json "${@:3}" >"$out/$2.json"; }
query() { "$ak" query --db "$1" --format "$2" --limit 0 "$3"; }

{ date -u +%FT%TZ; "$ak" devices; nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv; nproc; } >"$out/environment.txt" 2>&1

nvcc -O2 -arch=native -o "$scratch/copy" "$(dirname "$0")/copy_bandwidth.cu" && "$scratch/copy" | tee "$out/copy_bandwidth.csv"

# 1. First verified kernel: empty cache, then a full one.
generate "$scratch/first.db" first_cold --algorithm vector_add --max-evaluations 1
generate "$scratch/first.db" first_cached --algorithm vector_add --max-evaluations 1

# 2. Throughput: softmax bf16, every variant built, checked and timed, nothing cached.
rm -rf "$ALPHAKERNEL_CACHE"
generate "$scratch/throughput.db" throughput_softmax --algorithm softmax --dtype bf16 --max-minutes "$(minutes "$seconds")"
query "$scratch/throughput.db" csv "SELECT status, count(*) AS variants FROM progress GROUP BY status ORDER BY 2 DESC" >"$out/throughput_status.csv"
query "$scratch/throughput.db" csv "SELECT * FROM stage_time_summary" >"$out/throughput_stage_times.csv"

# 3. Best found, for the figures that matter.
for algorithm in vector_add reduce_sum softmax; do
  dtype=fp32; [ "$algorithm" = softmax ] && dtype=bf16
  generate "$scratch/best.db" "best_$algorithm" --algorithm "$algorithm" --dtype "$dtype" --max-minutes 1.2
  cp "$scratch/best_$algorithm".{cu,explanation.md,test.cu} "$out/"
done
query "$scratch/best.db" csv "SELECT * FROM leaderboard" >"$out/leaderboard.csv"
query "$scratch/best.db" csv "SELECT * FROM benchmark_results" >"$out/benchmark_results.csv"
query "$scratch/best.db" csv "SELECT * FROM failures" >"$out/failures.csv"
grep -H -o '"first_verified_s":[0-9.]*\|"peak_rss_bytes":[0-9]*\|"largest_worker_peak_rss_bytes":[0-9]*\|"evaluations":[0-9]*\|"wall_s":[0-9.]*\|"score_ns":[0-9.]*' "$out"/*.json
