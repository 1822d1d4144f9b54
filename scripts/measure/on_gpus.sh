#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs measurements on all GPUs of a machine at the same time, a list of commands on each: for a machine that is lent for minutes.
#
#   bash scripts/measure/on_gpus.sh JOBS OUTPUT_FOLDER SECONDS
#
# A line of JOBS is the number of a GPU and a command of bash, which sees that GPU alone (CUDA_VISIBLE_DEVICES) and the output
# folder as $OUT; a line that begins with # is a comment. Commands of one GPU run one after the other. When SECONDS are over, the
# command in progress is interrupted as by Ctrl-C, ended ten seconds later, and those after it are left out.
# Leaves OUTPUT_FOLDER/gpuN.log, what each command took and its exit code in OUTPUT_FOLDER/jobs.csv, and the machine and its
# driver in OUTPUT_FOLDER/machine.txt. Exit code 1 where a command failed or was left out.
set -u
[ $# -eq 3 ] || { sed -n '3,12s/^# \{0,1\}//p' "$0"; exit 2; }
[ -r "$1" ] || { echo "$1: cannot be read" >&2; exit 2; }
[[ $3 =~ ^[1-9][0-9]*$ ]] || { echo "$3: expected seconds, a whole number from 1 on" >&2; exit 2; }
if wrong=$(grep -vnE '^(#|[[:space:]]*$|[0-9]+[[:space:]]+[^[:space:]])' "$1"); then
  echo "$1: expected the number of a GPU and a command in each line, not line $wrong" >&2
  exit 2
fi
jobs=$1 limit_s=$3
mkdir -p "$2" && OUT=$(cd "$2" && pwd)
export OUT
{ date -u +%FT%TZ; uname -sr; nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader 2>&1 || true; } > "$OUT/machine.txt"
echo 'gpu,began_s,seconds,exit_code,command' > "$OUT/jobs.csv"

quoted() { printf '"%s"' "${1//\"/\"\"}"; }

work_on() {  # GPU: its lines, one after the other
  local line command began code failed=0
  while IFS= read -r line; do
    command=$(sed -E 's/^[0-9]+[[:space:]]+//' <<< "$line")
    began=$SECONDS code=not_run
    if ((limit_s > began)); then
      echo "## $command" >> "$OUT/gpu$1.log"
      CUDA_VISIBLE_DEVICES=$1 timeout -s INT -k 10 $((limit_s - began)) bash -c "$command" >> "$OUT/gpu$1.log" 2>&1 < /dev/null
      code=$?
    fi
    [ "$code" = 0 ] || failed=1
    echo "$1,$began,$((SECONDS - began)),$code,$(quoted "$command")" >> "$OUT/jobs.csv"
  done < <(grep -E "^$1[[:space:]]" "$jobs")
  return $failed
}

workers=()
for gpu in $(sed -nE 's/^([0-9]+)[[:space:]].*/\1/p' "$jobs" | sort -nu); do
  work_on "$gpu" &
  workers+=($!)
done
result=0
for worker in "${workers[@]}"; do wait "$worker" || result=1; done
cat "$OUT/jobs.csv"
exit $result
