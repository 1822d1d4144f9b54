// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_toolkit.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <system_error>

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

// 12.8 is the first release with sm_100 and precompiled headers; older ones of major 12 still build
// what they know.
constexpr std::array kLibraryNames{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
constexpr std::array kLibraryFolders{"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"};

std::vector<fs::path> versioned_roots() {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/local", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("cuda-12") || name.starts_with("cuda-13")) found.push_back(entry.path());
  }
  std::ranges::sort(found, std::greater<>{});
  return found;
}

fs::path library_in(const fs::path& root) {
  std::error_code error;
  for (const char* folder : kLibraryFolders)
    for (const char* name : kLibraryNames)
      if (const auto path = root / folder / name; fs::exists(path, error)) return path;
  return {};
}

std::vector<fs::path> include_dirs_in(const fs::path& root) {
  std::vector<fs::path> found;
  std::error_code error;
  // CCCL (cub, cuda/std, thrust) has its own folder since CUDA 13.
  for (const char* folder : {"include", "include/cccl"})
    if (fs::is_directory(root / folder, error)) found.push_back(root / folder);
  return found;
}

bool linker_finds(const char* name) {
  void* handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

}  // namespace

std::vector<fs::path> cuda_roots() {
  std::vector<fs::path> found;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0')
      found.emplace_back(value);
  found.emplace_back("/usr/local/cuda");
  std::ranges::move(versioned_roots(), std::back_inserter(found));
  return found;
}

Result<CudaToolkit> find_cuda_toolkit() {
  for (const auto& root : cuda_roots())
    if (auto library = library_in(root); !library.empty()) return CudaToolkit{library, include_dirs_in(root)};
  for (const char* name : kLibraryNames)
    if (linker_finds(name)) return CudaToolkit{name, include_dirs_in("/usr")};
  return InputError{
      "NVRTC (libnvrtc.so.13) was not found in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda or the dynamic "
      "linker's path: "
      "install the CUDA 13 toolkit (packages cuda-nvrtc-13-0 and cuda-cudart-dev-13-0 suffice), or set "
      "CUDA_HOME to its folder"};
}

}  // namespace ak::runtime
