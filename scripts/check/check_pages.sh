#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks at every page of the dashboard in Debian's Chromium: with the database of real searches, with one whose texts are
# all hostile, and while another process writes; and at reports of a recorded week, of losses only, of nothing and of hostile
# texts, at four widths, light and dark. Needs Node 20, npm, chromium, sqlite3 and xz; exit code 77 where one is missing.
# Usage: scripts/check/check_pages.sh [BUILD_FOLDER]        (SCREENSHOTS=DIR keeps pictures; AK_QUICK=1 tries one look alone)
#        scripts/check/check_pages.sh --reports [BUILD_FOLDER]   looks at the reports alone
#        scripts/check/check_pages.sh --report FILE...           looks at HTML reports that are there
set -euo pipefail
cd "$(dirname "$0")/../.."
for needed in node sqlite3 xz "${CHROMIUM:-/usr/bin/chromium}"; do
  command -v "$needed" >/dev/null || { echo "skipped: $needed is not installed"; exit 77; }
done
bash scripts/check/peers.sh pages
check=tests/peers/pages/check_pages.mjs
if [ "${1:-}" = --report ]; then
  shift
  exec node "$check" report "$@"
fi
only=all
if [ "${1:-}" = --reports ]; then
  only=reports
  shift
fi
program=$(realpath "${1:-build/release}/bin/alphakernel")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ALPHAKERNEL_CONFIG=$work/none.json ALPHAKERNEL_CACHE=$work/cache

make_reports() {
  xz -dc experiments/results/2026-11-22_h200_week/week.db.xz >"$work/week.db"
  "$program" db upgrade "$work/week.db" 2>/dev/null
  cp "$work/week.db" "$work/losses.db"
  sqlite3 "$work/losses.db" "UPDATE measurements SET median_ns = median_ns / 20, ci_low_ns = ci_low_ns / 20, ci_high_ns = ci_high_ns / 20
    WHERE role = 'baseline'; UPDATE searches SET status = 'stopped', reason = 'interrupted' WHERE id % 3 = 0"
  cp "$work/week.db" "$work/hostile_week.db"
  sqlite3 "$work/hostile_week.db" <tests/peers/pages/hostile.sql
  for name in "$@"; do
    "$program" report --db "$work/$name.db" --week 2026-W47 --output "$work/$name.html" 2>/dev/null
  done
}
echo "== reports"
if [ -n "${AK_QUICK:-}" ]; then
  make_reports week
else
  make_reports week losses hostile_week
  "$program" report --db "$work/week.db" --week 2019-W01 --output "$work/empty.html" 2>/dev/null
fi
node "$check" report "$work"/*.html
[ "$only" = reports ] && exit

# A run with this program brings the recorded database to the present schema.
gunzip -c experiments/results/2026-11-22_h200_llm_sessions/sessions.db.gz >"$work/real.db"
"$program" generate -q --algorithm vector_add --arch sm_90a --device none --max-evaluations 3 \
  --db "$work/real.db" --output "$work/k.cu"
cp "$work/real.db" "$work/live.db"
cp "$work/real.db" "$work/hostile.db"
sqlite3 "$work/hostile.db" <tests/peers/pages/hostile.sql
echo "== pages of real searches"
node "$check" dashboard "$program" "$work/real.db" ${AK_QUICK:+phone}
echo "== the dashboard at every width, and with the keyboard"
node tests/peers/pages/check_views.mjs "$program" "$work/real.db" ${AK_QUICK:+400_light}
echo "== pages of hostile texts"
node "$check" dashboard "$program" "$work/hostile.db" light
echo "== while another process writes"
node "$check" live "$program" "$work/live.db"
