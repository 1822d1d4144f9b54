#!/usr/bin/env bash
# Shows that nvcc accepts every snippet of the corpus: what it accepts, AlphaKernel has to build too.
set -euo pipefail
cd "$(dirname "$0")"
for file in *.cu; do
  nvcc -std=c++20 -arch=sm_90a --expt-relaxed-constexpr --extended-lambda -w -c "$file" -o /dev/null && echo "ok $file" || echo "REFUSED $file"
done
