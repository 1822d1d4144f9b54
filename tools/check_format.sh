#!/usr/bin/env bash
# Fails when a C++ file is not formatted as .clang-format says. `tools/check_format.sh --fix` formats instead.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run --Werror)
[ "${1:-}" = "--fix" ] && mode=(-i)
git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format "${mode[@]}"
