#!/usr/bin/env bash
# Walks through what a user does on a GPU machine, and through what goes wrong, printing what happened and the exit
# codes: own kernel, cross-arch, targets, Ctrl-C, a killed worker, every dtype. For a person to read; minutes.
#   scripts/measure/try_on_gpu.sh OUTPUT_FOLDER [MY_PROBLEM_FOLDER]
set -uo pipefail
out=${1:?usage: scripts/measure/try_on_gpu.sh OUTPUT_FOLDER [MY_PROBLEM_FOLDER]}
mine=${2:-}
ak=${AK:-build/release/bin/alphakernel}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export ALPHAKERNEL_CACHE=$scratch/cache ALPHAKERNEL_CONFIG=$scratch/none.json ALPHAKERNEL_DB=$out/main_job.db
step() { printf '\n## %s\n' "$1"; shift; "$@" 2>&1; printf 'exit code %s\n' "$?"; }

for algorithm in vector_add reduce_sum softmax; do
  for dtype in fp32 fp16 bf16; do
    step "$algorithm $dtype" "$ak" generate -q --algorithm "$algorithm" --dtype "$dtype" --arch native --seed 1 --max-evaluations 12 --output "$scratch/$algorithm.cu"
  done
done
if [ -n "$mine" ]; then
  kernel=$(find "$mine" -name '*.cu' ! -name reference.cu | head -n 1)
  step "own kernel: check" "$ak" problem check "$mine"
  step "own kernel: generate" "$ak" generate -q --problem "$mine" --start "$kernel" --arch native --output "$scratch/fast.cu"
  step "own kernel: evaluate" "$ak" evaluate "$scratch/fast.cu" --problem "$mine"
fi
for algorithm in softmax gemm reduce_sum transpose_inplace; do
  step "audit of $algorithm" "$ak" algorithms audit "$algorithm" --device cuda
done
step "cross-arch" "$ak" generate -q --algorithm vector_add --arch b200 --max-evaluations 2 --output "$scratch/b200.cu"
step "a device that is not there" "$ak" generate -q --algorithm vector_add --device cuda:77 --output "$scratch/x.cu"
step "target reached" "$ak" generate -q --algorithm softmax --dtype bf16 --arch native --target-performance 60us --output "$scratch/t.cu"
step "Ctrl-C after 6 s" timeout -s INT 6 "$ak" generate --algorithm softmax --dtype fp16 --arch native --output "$scratch/c.cu"
(sleep 4; pkill -9 -f 'worker --role device'; sleep 2; pkill -9 -f 'worker --role compile') &
step "workers killed with -9 during the run" "$ak" generate -q --algorithm softmax --dtype fp32 --arch native --max-minutes 0.2 --output "$scratch/k.cu"
step "statuses" "$ak" query "SELECT search_id AS search, status, stage, count(*) AS n, min(message) AS message FROM evaluations GROUP BY 1, 2, 3"
step "evaluate a finished file, no other flag" "$ak" evaluate "$scratch/t.cu"
step "processes left behind" bash -c 'pgrep -fa "worker --role" || echo none'
