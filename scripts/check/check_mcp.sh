#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries `alphakernel mcp` with the protocol's own client library, in both eras. Needs Node 20 and npm; downloads
# 18 MB into a folder of its own. Usage: scripts/check/check_mcp.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-build/release/bin/alphakernel}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp scripts/check/check_mcp.mjs "$work"
cd "$work"
npm install --silent --no-audit --no-fund @modelcontextprotocol/client@2.4.0
export ALPHAKERNEL_DB=$work/check.db ALPHAKERNEL_CONFIG=$work/config.json
for era in legacy auto; do
  echo "== $era"
  node check_mcp.mjs "$program" "$era"
done
echo "the server works with the client library in both eras"
