#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries the language-model providers: every form of request against the types of the providers' own libraries, then
# whole runs against a mock of their servers, with every fault that it can play. Downloads 100 MB the first time.
# Usage: scripts/check/check_providers.sh [--quick] [BUILD_FOLDER]. Two minutes; --quick: half a minute, no faults.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=all
[ "${1:-}" = --quick ] && { mode=quick; shift; }
build=$(realpath "${1:-build/release}")
scripts/check/peers.sh providers
"$build/tests/agent/llm_bodies" | node tests/peers/providers/bodies.mjs
node tests/peers/providers/aimock.mjs "$build/bin/alphakernel" "$PWD" "$mode"
