#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks at every page of the dashboard in Debian's Chromium: with the database of real searches, with one whose texts are
# all hostile, and while another process writes. Needs Node 20, npm, chromium and sqlite3; exit code 77 where one is missing.
# Usage: scripts/check_pages.sh [BUILD_FOLDER]        (SCREENSHOTS=DIR keeps pictures; AK_QUICK=1 tries one look alone)
#        scripts/check_pages.sh --report FILE...      looks at HTML reports instead
set -euo pipefail
cd "$(dirname "$0")/.."
for needed in node sqlite3 "${CHROMIUM:-/usr/bin/chromium}"; do
  command -v "$needed" >/dev/null || { echo "skipped: $needed is not installed"; exit 77; }
done
bash scripts/peers.sh pages
check=tests/peers/pages/check_pages.mjs
if [ "${1:-}" = --report ]; then
  shift
  exec node "$check" report "$@"
fi
program=$(realpath "${1:-build/release}/bin/alphakernel")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ALPHAKERNEL_CONFIG=$work/none.json ALPHAKERNEL_CACHE=$work/cache
# A run with this program brings the recorded database to the present schema.
gunzip -c experiments/results/2026-11-22_h200_llm_sessions/sessions.db.gz >"$work/real.db"
"$program" generate -q --algorithm vector_add --arch sm_90a --device none --max-evaluations 3 \
  --db "$work/real.db" --output "$work/k.cu"
cp "$work/real.db" "$work/live.db"
cp "$work/real.db" "$work/hostile.db"
sqlite3 "$work/hostile.db" <tests/peers/pages/hostile.sql
echo "== pages of real searches"
node "$check" dashboard "$program" "$work/real.db" ${AK_QUICK:+phone}
echo "== pages of hostile texts"
node "$check" dashboard "$program" "$work/hostile.db" light
echo "== while another process writes"
node "$check" live "$program" "$work/live.db"
