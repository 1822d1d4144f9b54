#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries `alphakernel library check` on a GPU: a package of three kernels is checked again and again, where nothing may be
# named, then with planted changes, each of which has to be; and --repair has to give the place of a broken kernel, of a
# problem that is not shipped, to another. For a person to read; the exit status is 0 when all did.
#
#   bash scripts/check/check_library_check.sh OUTPUT_FOLDER [CHECKS]
#
# CHECKS: of the unchanged package (10). AK: the program, or the folder that it was installed to. PYTHON: an interpreter with
# PyTorch (python3); empty: without. DEVICE: a --device (cuda); with `emulator` and an empty PYTHON the script itself is tried.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 1 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0"; exit 2; }
program=${AK:-$root/build/release/bin/alphakernel}
[ -d "$program" ] && program=$program/bin/alphakernel
[ -x "$program" ] || { echo "there is no program $program; set AK" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd)
checks=${2:-10} device=${DEVICE:-cuda} baselines=eager
[ -n "${PYTHON-python3}" ] && export ALPHAKERNEL_PYTHON=${PYTHON-python3} || baselines=
export ALPHAKERNEL_DB=$out/check.db ALPHAKERNEL_CACHE=$out/cache ALPHAKERNEL_CONFIG=$out/none.json
failed=0

# expects STATUS NAME PACKAGE FLAGS...: one check, whose report is NAME.json.
expects() {
  local status=$1 name=$2 package=$3
  shift 3
  "$program" library check "$out/$package" --device "$device" --unaudited --baselines "$baselines" --json "$@" \
    >"$out/$name.json" 2>"$out/$name.log"
  local got=$?
  printf '%-24s exit %d, expected %d\n' "$name" "$got" "$status"
  [ "$got" -eq "$status" ] || failed=1
}

# break_source PACKAGE NAME KERNEL: of the first operator, which then is that of the file.
break_source() {
  sed -i 's/__global__/__no_such_word__/' "$out/$1/$2/kernels/$3.cu"
  python3 - "$out/$1/$2/library.json" <<'PYTHON' || exit 1
import json
import sys
library = json.load(open(sys.argv[1], encoding="utf-8"))
library["operators"][0]["measured"] = None
json.dump(library, open(sys.argv[1], "w", encoding="utf-8"))
PYTHON
}

kernels=()
for problem in softmax rmsnorm gemm; do
  "$program" generate --algorithm "$problem" --dtype bf16 --max-evaluations 6 --device "$device" --unaudited \
    --output "$out/$problem.cu" >"$out/$problem.log" 2>&1 || { tail -n 3 "$out/$problem.log"; exit 1; }
  kernels+=(--kernel "$problem=$out/$problem.cu")
done
"$program" library build "${kernels[@]}" --name checked_ops --output "$out/dist" --force || exit 1

for i in $(seq 1 "$checks"); do expects 0 "unchanged_$i" dist; done

# Costs that were lower (CPU device), turns that were better (GPU): what a slower driver would look like.
python3 - "$out" <<'PYTHON' || exit 1
import json
import sqlite3
import sys
out = sys.argv[1]
path = f"{out}/dist/checked_ops/library.json"
library = json.load(open(path, encoding="utf-8"))
for time in library["operators"][0]["measured"]["times"]:
    time["median_us"] /= 1.05
json.dump(library, open(path, "w", encoding="utf-8"))
database = sqlite3.connect(f"{out}/check.db")
variant = library["operators"][0]["measured"]["variant"]
with database:
    database.execute("UPDATE turns SET ratio = ratio * 1.05, ci_low = ci_low * 1.05, ci_high = ci_high * 1.05 "
                     "WHERE evaluation_id IN (SELECT id FROM evaluations WHERE variant_id = ?)", (variant,))
PYTHON
expects 8 planted_slowdown dist

break_source dist checked_ops softmax
expects 8 broken_source dist --operator softmax

# A kernel of a problem that is not shipped: a search among the templates of its folder finds another.
rm -rf "$out/own" "$out/own_dist"
cp -r "$root/templates/vector_add" "$out/own" && rm -f "$out/own/audit.json"
sed -i 's/"vector_add/"own_add/' "$out/own/problem.json"
own=(--problem "$out/own")
"$program" generate "${own[@]}" --max-evaluations 1 --device "$device" --unaudited --output "$out/add.cu" \
  >"$out/add.log" 2>&1 || { tail -n 3 "$out/add.log"; exit 1; }
"$program" library build --kernel "add=$(grep -o 'search:[0-9]*' "$out/add.log" | head -n 1)" "${own[@]}" --name own_ops --output "$out/own_dist" --force || exit 1
break_source own_dist own_ops add
expects 8 own_broken own_dist "${own[@]}"
expects 0 own_repaired own_dist "${own[@]}" --repair --tune 2
grep -q __no_such_word__ "$out/own_dist/own_ops/kernels/add.cu" && { echo "the broken kernel is still there"; failed=1; }
exit "$failed"
