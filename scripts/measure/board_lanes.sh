#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs tasks of a board in several processes at the same time, each with a folder and a database of its own: most of a short task is
# work of the CPU (loading PyTorch, torch.compile, examining candidates), and GPUs are shared in turns.
#
#   bash scripts/measure/board_lanes.sh OUTPUT_FOLDER BOARD LANES TASK...
#
# Task number i goes to lane i modulo LANES; its name is the file's without .py. The same call goes on with what is not finished.
# Writes OUTPUT_FOLDER/laneN.json, what `board show --json` says. ALPHAKERNEL: the program (build/release/bin/alphakernel).
# TASKS: folder with the benchmark's files.
# TASK_MINUTES: of a search, at most (0.4). DEVICE: where (cuda). FLAGS: more flags of `board run`.
set -u
[ $# -ge 4 ] || { sed -n '3,13s/^# \{0,1\}//p' "$0"; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
program=${ALPHAKERNEL:-$root/build/release/bin/alphakernel}
mkdir -p "$1" && out=$(cd "$1" && pwd) && board=$2 lanes=$3 && shift 3 || exit 2
[[ $lanes =~ ^[1-9][0-9]?$ ]] || { echo "$lanes: expected how many lanes, from 1 to 99" >&2; exit 2; }
export ALPHAKERNEL_CONFIG=${ALPHAKERNEL_CONFIG:-$out/none.json}

run_lane() {  # NUMBER TASK...
  local folder=$out/lane$1 flags=() task
  shift
  for task; do flags+=(--task "${task,,}"); done
  "$program" board run "$board" --folder "$folder" --db "$folder.db" --device "${DEVICE:-cuda}" --max-minutes "${TASK_MINUTES:-0.4}" \
    ${TASKS:+--tasks "$TASKS"} ${FLAGS:-} "${flags[@]}" > "$folder.log" 2>&1
  local code=$?
  [ ! -e "$folder/board.json" ] || "$program" board show "$board" --folder "$folder" --json > "$folder.json"
  return $code
}

workers=() result=0
trap 'result=130' INT TERM # which the program gets, too, as it comes to all of a terminal's or a timeout's processes: it ends by itself
for ((lane = 0; lane < lanes; ++lane)); do
  mine=()
  for ((i = lane + 1; i <= $#; i += lanes)); do mine+=("${!i}"); done
  [ ${#mine[@]} -eq 0 ] || { run_lane "$lane" "${mine[@]}" & workers+=($!); }
done
for worker in "${workers[@]}"; do
  while kill -0 "$worker" 2> /dev/null; do wait "$worker"; done
  wait "$worker"
  code=$?
  [ $code -eq 0 ] || [ $result -ne 0 ] || result=$code
done
exit "$result"
