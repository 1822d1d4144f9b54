// SPDX-License-Identifier: Apache-2.0
#include "runtime/baseline/library_baseline.h"

#include <dlfcn.h>

#include <algorithm>
#include <string_view>

#include "core/plan/problem.h"
#include "runtime/baseline/cublaslt_baseline.h"
#include "runtime/baseline/cudnn_baseline.h"
#include "runtime/cuda/cuda_toolkit.h"

namespace ak::runtime {
namespace {

struct Library {
  std::string_view name;
  Result<std::unique_ptr<LibraryBaseline>> (*open)();
};
constexpr Library kLibraries[] = {
    {"cublaslt", open_cublaslt}, {"cublaslt_first", open_cublaslt_first}, {"cudnn", open_cudnn}};
static_assert(std::ranges::equal(kLibraries, kLibraryBaselines, {}, &Library::name),
              "problems name the libraries of this table, in its order");

}  // namespace

Result<std::unique_ptr<LibraryBaseline>> open_library_baseline(const std::string& name) {
  for (const Library& library : kLibraries) {
    if (library.name == name) return library.open();
  }
  return InputError{fmt::format("this build does not have the library '{}'", name)};
}

Result<void*> load_vendor_library(const std::vector<std::string>& file_names) {
  std::vector<std::string> places = file_names;
  if (const auto toolkit = find_cuda_toolkit(); toolkit && toolkit->nvrtc_library.has_parent_path()) {
    for (const std::string& name : file_names)
      places.push_back((toolkit->nvrtc_library.parent_path() / name).string());
  }
  for (const std::string& place : places) {
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  }
  return InputError{fmt::format("{} not found: set LD_LIBRARY_PATH to the folder that holds it",
                                fmt::join(file_names, " or "))};
}

}  // namespace ak::runtime
