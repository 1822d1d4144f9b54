#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the boards on the GPU here, one after the other, and writes their pages. When its time is over it ends, and goes
# on where it was when it is called again with the same folder.
#
#   bash scripts/measure_boards.sh OUTPUT_FOLDER [BOARD...]
#
# Boards: kernelbench_hard gpu_mode kernelbench_level1 (default: these; the last only with KERNELBENCH).
# KERNELBENCH: a checkout of KernelBench, for its tasks and its judge. LIMIT_MINUTES: of this call (9). DEVICE: where
# (cuda). AK: the program (build/release/bin/alphakernel). TASK_MINUTES: of a task, at most (0.5).
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || { sed -n '3,11s/^# \{0,1\}//p' "$0"; exit 2; }
program=${AK:-$root/build/release/bin/alphakernel}
[ -x "$program" ] || { echo "there is no program $program; set AK" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) && shift
kernelbench=${KERNELBENCH:-} limit_minutes=${LIMIT_MINUTES:-9} device=${DEVICE:-cuda}
boards=("$@")
[ $# -gt 0 ] || boards=(kernelbench_hard gpu_mode ${kernelbench:+kernelbench_level1})

# Where a checkout has the tasks of a level.
tasks_of() {
  for folder in "$kernelbench/KernelBench/${1#kernelbench_}" "$kernelbench/${1#kernelbench_}"; do
    [ -d "$folder" ] && { echo "$folder"; return; }
  done
}

for board in "${boards[@]}"; do
  left=$(awk "BEGIN { print $limit_minutes - $SECONDS / 60 }")
  awk "BEGIN { exit !($left > 0) }" || break
  flags=(--folder "$out/$board" --db "$out/boards.db" --device "$device" --limit-minutes "$left")
  flags+=(--max-minutes "${TASK_MINUTES:-0.5}")
  tasks=
  case $board in kernelbench_level*) tasks=$(tasks_of "$board"); flags+=(--tasks "$tasks") ;; esac
  "$program" board run "$board" "${flags[@]}"
  "$program" board page "$board" --folder "$out/$board" --output "$out/$board.html"
  "$program" board show "$board" --folder "$out/$board" --json > "$out/$board.json"
  [ -z "$tasks" ] || "$program" board confirm "$board" --folder "$out/$board" --judge "$kernelbench"
done
