#!/usr/bin/env bash
# A full disk under the database, the build cache, the output and the temporary folder, and a database on a
# read-only file system: on file systems of our own, in namespaces of our own. Run by disk_test.cpp as
#   disk_test.sh PROGRAM FOLDER
# Writes each run's standard error to FOLDER/NAME.err and "NAME EXIT_CODE" to FOLDER/codes. Exit code 77: no
# mounts are allowed here.
set -u
if [[ ${3:-} != inside ]]; then
  unshare -rm true 2>/dev/null || exit 77
  exec unshare -rm "$0" "$1" "$2" inside
fi
program=$1 folder=$2
small=$folder/small roomy=$folder/roomy
mkdir -p "$small" "$roomy"
mount -t tmpfs -o size=4m none "$small" || exit 77

export ALPHAKERNEL_CONFIG=$roomy/config.json HOME=$roomy
fill() { head -c 64m /dev/zero >"$small/ballast" 2>/dev/null; }
free() { rm -f "$small/ballast"; }
run() { # NAME [EVALUATIONS] of vector_add
  local name=$1
  timeout 600 "$program" generate --algorithm vector_add --shape N=1000 --device emulator --arch sm_80 --seed 1 \
    --max-evaluations "${2:-5}" --dtype bf16 --output "$out/k.cu" >"$folder/$name.out" 2>"$folder/$name.err"
  echo "$name $?" >>"$folder/codes"
}
count() { # NAME SQL, whose answer is one number
  echo "$1 $("$program" query --format csv "$2" | tail -n 1)" >>"$folder/codes"
}
fresh() {
  export ALPHAKERNEL_DB=$roomy/ak.db ALPHAKERNEL_CACHE=$roomy/cache TMPDIR=/tmp
  out=$roomy
  rm -f "$roomy"/k.*
}

fresh
export ALPHAKERNEL_DB=$small/ak.db
run database_before
fill
run database_full
"$program" query "SELECT 1" >/dev/null 2>"$folder/query_full.err"
echo "query_full $?" >>"$folder/codes"
free
run database_after
count database_after_kept "SELECT count(*) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id WHERE arm NOT IN ('held_out', 'examination')"
count database_integrity "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"

# It fills while the run commits.
head -c 3500k /dev/zero >"$small/ballast"
run database_fills 240
free
seen=$(grep -c tried "$folder/database_fills.err")
count database_fills_lost "SELECT count(*) < $seen FROM evaluations WHERE search_id = (SELECT max(id) FROM searches)"
run database_fills_after
count database_fills_running "SELECT count(*) FROM searches WHERE status = 'running'"

mount -o remount,ro "$small"
run database_read_only
mount -o remount,rw "$small"

fresh
export ALPHAKERNEL_CACHE=$small/cache
fill
run cache_full
free

fresh
out=$small
fill
run output_full
free
run output_after

fresh
export TMPDIR=$small
fill
run temporary_full
free
fresh
