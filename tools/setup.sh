#!/usr/bin/env bash
# Installs the Debian packages that AlphaKernel is built with, and checks for the CUDA toolkit.
#   tools/setup.sh             all: programs and tests
#   tools/setup.sh programs    what the programs need
#   tools/setup.sh python      what references in Python need: PyTorch for /usr/bin/python3
# Uses sudo when not root. Safe to run again: does nothing when all is there.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config git
  libfmt-dev nlohmann-json3-dev libcli11-dev libeigen3-dev libsqlite3-dev libsodium-dev
  zlib1g-dev liblzma-dev libcurl4-openssl-dev libcmark-gfm-dev libcmark-gfm-extensions-dev)
case "${1:-all}" in
  programs) ;;
  python) packages=(python3 python3-torch) ;;
  all) packages+=(catch2 clang-format make python3 sqlite3 dpkg-dev file groff-base) ;;
  *) echo "setup: unknown set of packages '$1': say 'programs', 'python' or nothing" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep 'install ok installed' > /dev/null || missing+=("$package")
done
if ((${#missing[@]})); then
  echo "setup: installing ${missing[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: need root or sudo to install: ${missing[*]}" >&2; exit 5; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

[ "${1:-all}" = python ] && exit 0
for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
  [ -n "$root" ] && [ -f "$root/include/nvrtc.h" ] && [ -f "$root/include/cuda.h" ] || continue
  if ! ls "$root"/lib64/libnvrtc.so.* >/dev/null 2>&1; then
    echo "setup: $root has headers but no lib64/libnvrtc.so: install the cuda-nvrtc package of the toolkit" >&2
    exit 5
  fi
  major=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\)000.*/\1/p;s/^#define CUDA_VERSION \([0-9]*\)0[0-9]0$/\1/p' "$root/include/cuda.h" | sed -n 1p)
  [ "${major:-0}" -ge 13 ] || echo "setup: CUDA ${major:-?} found in $root; AlphaKernel is tested with CUDA 13" >&2
  echo "setup: CUDA toolkit in $root"
  exit 0
done
cat >&2 <<'EOF'
setup: the CUDA toolkit was not found.
  Install CUDA 13 (headers, NVRTC; nvcc only for the stand-alone tests) from NVIDIA's packages for Debian 12,
  for example the packages cuda-nvrtc-dev-13-0, cuda-cudart-dev-13-0, cuda-cccl-13-0 and cuda-nvcc-13-0
  (and libcublas-dev-13-0 for the cuBLASLt baseline of gemm, libcudnn9-dev-cuda-13 for the cuDNN one of flash_attention),
  or set CUDA_HOME to the folder of an existing installation.
EOF
exit 5
