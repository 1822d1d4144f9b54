#!/usr/bin/env bash
# scripts/measure/on_gpus.sh runs the lists of GPUs beside each other, keeps to its time, and says how each command ended.
set -euo pipefail
script=$1/scripts/measure/on_gpus.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "on_gpus: $1" >&2; exit 1; }

cat > "$folder/jobs.txt" << 'JOBS'
# two GPUs; each waits for a file that the other one writes
0 touch $OUT/zero; until [ -e $OUT/one ]; do sleep 0.05; done; echo "sees $CUDA_VISIBLE_DEVICES"
0 exit 7
1 touch $OUT/one; until [ -e $OUT/zero ]; do sleep 0.05; done
JOBS
if bash "$script" "$folder/jobs.txt" "$folder/both" 60 > /dev/null; then fail "a command that fails is no success"; fi
grep -q '^sees 0$' "$folder/both/gpu0.log" || fail "a command sees its GPU alone"
[ "$(cut -d, -f1,4 "$folder/both/jobs.csv" | sort | tr '\n' ' ')" = "0,0 0,7 1,0 gpu,exit_code " ] ||
  fail "expected an exit code of each command, not $(cat "$folder/both/jobs.csv")"

printf '0 sleep 1000\n0 touch $OUT/late\n' > "$folder/long.txt"
if bash "$script" "$folder/long.txt" "$folder/long" 1 > /dev/null; then fail "a command that was interrupted is no success"; fi
[ ! -e "$folder/long/late" ] || fail "nothing begins after the end"
grep -q ',not_run,"touch' "$folder/long/jobs.csv" || fail "what was left out is named"

printf '0 true\nzero false\n' > "$folder/wrong.txt"
code=0
said=$(bash "$script" "$folder/wrong.txt" "$folder/wrong" 1 2>&1) || code=$?
[ $code = 2 ] && [[ $said == *"line 2:zero false"* ]] || fail "a wrong line is named, not: $said"
[ ! -e "$folder/wrong" ] || fail "nothing runs of a list with a wrong line"
echo "1 passed, 0 failed"
