#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the npm packages, pinned by its lock file, that tests/peers/NAME needs. Needs Node 20 and npm.
# Usage: scripts/check/peers.sh NAME. With AK_NO_INSTALL=1 nothing is installed: exit code 77 where they are missing.
set -euo pipefail
name=${1:?usage: scripts/check/peers.sh NAME}
cd "$(dirname "$0")/../../tests/peers/$name"
cmp -s package-lock.json node_modules/.installed-lock && exit 0
if [ "${AK_NO_INSTALL:-}" = 1 ] || ! command -v npm >/dev/null; then
  echo "skipped: the npm packages of tests/peers/$name are not installed (scripts/check/peers.sh $name, needs Node 20 and npm)"
  exit 77
fi
# Not `npm ci`: it wants entries for the packages of every other system. Versions and hashes are those of the lock file.
npm install --silent --no-save --no-audit --no-fund --ignore-scripts
cp package-lock.json node_modules/.installed-lock
