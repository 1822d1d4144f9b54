#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks a package of kernels and says what has become slower: check_library.sh PACKAGE_FOLDER REPORT_FOLDER [FLAGS...]
# FLAGS go to `alphakernel library check`, such as --repair --tune 90. The exit status is that of the check: 0 fine,
# 8 regressions, 5 nothing could be compared. Nothing is printed when all is well, so that cron sends no mail.
set -u
[ $# -ge 2 ] || { sed -n '3,5s/^# \{0,1\}//p' "$0"; exit 2; }
package=$1 reports=$2
shift 2
mkdir -p "$reports"
report=$reports/$(date +%Y-%m-%d).json
"${ALPHAKERNEL:-alphakernel}" library check "$package" --json "$@" >"$report.part" 2>"$report.log"
status=$?
if [ -s "$report.part" ]; then mv "$report.part" "$report"; else rm -f "$report.part"; fi
case $status in
  0) ;;
  8) printf '%s has regressed:\n' "$package"
     python3 - "$report" <<'PYTHON'
import json
import sys
for row in json.load(open(sys.argv[1], encoding="utf-8"))["shapes"]:
    if row["verdict"] in ("slower", "behind", "failed"):
        print(f"  {row['operator']} {row['shape']}: {row['reason']}")
PYTHON
     ;;
  *) printf 'the check of %s ended with %d:\n' "$package" "$status"; tail -n 5 "$report.log" ;;
esac
exit "$status"
