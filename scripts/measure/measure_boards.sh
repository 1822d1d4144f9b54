#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the boards on the GPU here, one after the other, writes their pages and has KernelBench judge a sample: a piece of it,
# that ends in time whatever is at work then. The same call goes on, and says with exit code 75 that it has to be called again.
#
#   bash scripts/measure/measure_boards.sh OUTPUT_FOLDER [BOARD...]
#
# Boards: kernelbench_hard gpu_mode kernelbench_level1 (default: these; the last only with KERNELBENCH).
# KERNELBENCH: a checkout of KernelBench, for its tasks and its judge. LIMIT_MINUTES: of this call (8). DEVICE: where
# (cuda). AK: the program (build/release/bin/alphakernel). TASK_MINUTES: of a search, at most (0.5). FROM_FILES=1: search
# tasks as their files are written, which alone the judge takes, also where a template serves them.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 1 ] || { sed -n '3,13s/^# \{0,1\}//p' "$0"; exit 2; }
program=${AK:-$root/build/release/bin/alphakernel}
[ -x "$program" ] || { echo "there is no program $program; set AK" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) && shift || exit 2
kernelbench=${KERNELBENCH:-} device=${DEVICE:-cuda}
limit=$(awk "BEGIN { print int(60 * ${LIMIT_MINUTES:-8}) }")
again=75      # EX_TEMPFAIL of sysexits.h
kill_after=10 # seconds: what does not end when it is asked to is killed, which a board survives
ending=60     # seconds: for a search that is stopped to confirm its kernel, and for pages
boards=("$@")
[ $# -gt 0 ] || boards=(kernelbench_hard gpu_mode ${kernelbench:+kernelbench_level1})

# Runs a command in what is left of the time. Ends the piece where nothing is left, or it does not suffice.
in_time() {
  local left=$((limit - SECONDS - kill_after)) code
  [ "$left" -gt 0 ] || exit $again
  timeout --signal=INT --kill-after=$kill_after "$left" "$@"
  code=$?
  case $code in 124 | 130 | 137) exit $again ;; esac
  return $code
}

# Where a checkout has the tasks of a level.
tasks_of() {
  for folder in "$kernelbench/KernelBench/${1#kernelbench_}" "$kernelbench/${1#kernelbench_}"; do
    [ -d "$folder" ] && { echo "$folder"; return; }
  done
  echo "KERNELBENCH names no folder with tasks of $1" >&2
  return 1
}

# What is there so far.
write_board() {
  [ -f "$out/$1/board.json" ] || return 0
  "$program" board page "$1" --folder "$out/$1" --output "$out/$1.html"
  "$program" board show "$1" --folder "$out/$1" --json >"$out/$1.json"
}

{ date -u; "$program" --version; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; } >>"$out/machine.txt" 2>&1
worst=0
for board in "${boards[@]}"; do
  tasks=
  case $board in kernelbench_level*) tasks=$(tasks_of "$board") || exit 2 ;; esac
  time_of_run=$((limit - SECONDS - ending))
  [ "$time_of_run" -gt 0 ] || exit $again
  flags=(--folder "$out/$board" --db "$out/boards.db" --device "$device" --max-minutes "${TASK_MINUTES:-0.5}")
  flags+=(--limit-minutes "$(awk "BEGIN { print $time_of_run / 60 }")" ${tasks:+--tasks "$tasks"})
  trap 'write_board "$board"' EXIT
  in_time "$program" board run "$board" "${flags[@]}" ${FROM_FILES:+--from-files}
  code=$?
  [ $code -eq 0 ] || worst=$code
  [ "$((limit - SECONDS))" -gt "$ending" ] || exit $again
  if [ -n "$tasks" ]; then
    in_time "$program" board confirm "$board" --folder "$out/$board" --judge "$kernelbench" || worst=$?
  fi
  trap - EXIT
  write_board "$board"
done
exit "$worst"
