// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nvrtc.h"

#include <dlfcn.h>

namespace ak::runtime {
namespace {

template <class Function>
bool load_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string Nvrtc::version() const { return fmt::format("{}.{}", major, minor); }

std::vector<Arch> Nvrtc::archs() const {
  int count = 0;
  nvrtcGetNumSupportedArchs(&count);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  nvrtcGetSupportedArchs(numbers.data());
  const bool has_family = major > 12 || (major == 12 && minor >= 9);
  std::vector<Arch> result;
  for (const int number : numbers) {
    const Arch base{number / 10, number % 10, 0};
    result.push_back(base);
    if (number >= 90) result.push_back({base.major, base.minor, 'a'});
    if (number >= 100 && has_family) result.push_back({base.major, base.minor, 'f'});
  }
  return result;
}

Result<Nvrtc> load_nvrtc(const std::filesystem::path& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return InputError{fmt::format("loading NVRTC: {}", ::dlerror())};
  Nvrtc table;
#define AK_NVRTC_LOAD(name)                      \
  if (!load_function(handle, #name, table.name)) \
    return InputError{fmt::format("{} has no {}", library.string(), #name)};
  AK_NVRTC_FUNCTIONS(AK_NVRTC_LOAD)
#undef AK_NVRTC_LOAD
  if (table.nvrtcVersion(&table.major, &table.minor) != NVRTC_SUCCESS)
    return InputError{fmt::format("{} does not report its version", library.string())};
  return table;
}

}  // namespace ak::runtime
