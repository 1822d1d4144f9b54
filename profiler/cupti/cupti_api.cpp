// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti/cupti_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "runtime/cuda/cuda_toolkit.h"

namespace ak::profiler {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libcupti.so.13";
// In the toolkit's own tree, and where its packages put it.
constexpr std::array kFolders{"extras/CUPTI/lib64", "lib64", "lib", "targets/x86_64-linux/lib",
                              "targets/sbsa-linux/lib"};

struct Meaning {
  CUptiResult result;
  const char* words;
};
// Why counters are refused, and what people can do (CUPTI documentation, "Permission issue" and the
// descriptions of these codes).
constexpr std::array kMeanings{
    Meaning{
        CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
        "the driver lets administrators alone read hardware counters; an administrator can allow it to all "
        "with the module option NVreg_RestrictProfilingToAdminUsers=0"},
    Meaning{CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
            "the host of this virtual GPU does not let it be profiled"},
    Meaning{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
            "another profiler is attached to this process; run without ncu, nsys or compute-sanitizer"},
    Meaning{CUPTI_ERROR_HARDWARE_BUSY,
            "another profiler or monitor (ncu, DCGM) holds the hardware counters; wait for it or pause it"},
    Meaning{CUPTI_ERROR_NOT_SUPPORTED, "this device or driver does not support it"},
    Meaning{CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "a MIG slice cannot be profiled"},
    Meaning{CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "confidential computing forbids it"},
    Meaning{CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "not possible under WSL with these settings"},
};

std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  std::error_code error;
  for (const fs::path& root : runtime::cuda_roots()) {
    for (const char* folder : kFolders) {
      const fs::path path = root / folder / kLibrary;
      if (fs::exists(path, error)) paths.push_back(path.string());
    }
  }
  paths.emplace_back(kLibrary);
  return paths;
}

Result<const CuptiApi*> load() {
  static CuptiApi api;
  void* library = nullptr;
  for (const std::string& path : candidates()) {
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    return InputError{
        fmt::format("CUPTI ({}) was not found in the toolkit's folders or the dynamic linker's "
                    "path: install the package cuda-cupti-13-0, or set CUDA_HOME",
                    kLibrary)};
  }
  std::string missing;
  const auto find = [&](const char* name) {
    void* symbol = ::dlsym(library, name);
    if (symbol == nullptr && missing.empty()) missing = name;
    return symbol;
  };
#define AK_CUPTI_LOAD(name) api.name = reinterpret_cast<decltype(api.name)>(find(#name));
  AK_CUPTI_FUNCTIONS(AK_CUPTI_LOAD)
#undef AK_CUPTI_LOAD
  if (!missing.empty()) return InputError{fmt::format("this CUPTI has no {}: CUDA 13 is needed", missing)};
  return &api;
}

}  // namespace

Result<const CuptiApi*> load_cupti() {
  static const Result<const CuptiApi*> loaded = load();
  return loaded;
}

std::string describe(const CuptiApi& api, CUptiResult result) {
  const auto found = std::ranges::find(kMeanings, result, &Meaning::result);
  const char* name = nullptr;
  api.cuptiGetResultString(result, &name);
  const std::string code = name != nullptr ? name : fmt::format("error {}", static_cast<int>(result));
  return found == kMeanings.end() ? code : fmt::format("{} ({})", found->words, code);
}

void check(const CuptiApi& api, CUptiResult result, const char* activity) {
  if (result != CUPTI_SUCCESS)
    throw CuptiError(result, fmt::format("{}: {}", activity, describe(api, result)));
}

}  // namespace ak::profiler
