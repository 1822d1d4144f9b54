// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace ak::runtime {
namespace {

#define AK_STRING(name) #name
#define AK_EXPANDED_STRING(name) AK_STRING(name)

const Driver* installed = nullptr;

template <class Function>
bool find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) missing = name;
  return function != nullptr;
}

Result<Driver> open_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return InputError{
        fmt::format("no NVIDIA driver: {}", reason != nullptr ? reason : "libcuda.so.1 not found")};
  }
  Driver table;
  std::string missing;
  bool complete = true;
#define AK_DRIVER_FIND(name) \
  complete = complete && find(library, AK_EXPANDED_STRING(name), table.name, missing);
  AK_DRIVER_FUNCTIONS(AK_DRIVER_FIND)
#undef AK_DRIVER_FIND
  if (!complete) {
    return InputError{
        fmt::format("the NVIDIA driver is too old: it lacks {}; version 580 or newer is needed", missing)};
  }
  return table;
}

// "The process must be terminated and relaunched" in the comments of cuda.h, and the ones after which the
// primary context of this process stays unusable.
constexpr std::array kProcessLost{
    CUDA_ERROR_ECC_UNCORRECTABLE,
    CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUDA_ERROR_CONTAINED,
    CUDA_ERROR_ILLEGAL_ADDRESS,
    CUDA_ERROR_LAUNCH_TIMEOUT,
    CUDA_ERROR_CONTEXT_IS_DESTROYED,
    CUDA_ERROR_ASSERT,
    CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUDA_ERROR_MISALIGNED_ADDRESS,
    CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUDA_ERROR_INVALID_PC,
    CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_TENSOR_MEMORY_LEAK,
    CUDA_ERROR_MPS_CLIENT_TERMINATED,
    CUDA_ERROR_EXTERNAL_DEVICE,
    CUDA_ERROR_UNKNOWN,
};

// A program that has one GPU has no peer whose memory it could access wrongly.
constexpr std::array kHardwareFailed{CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE,
                                     CUDA_ERROR_CONTAINED};

}  // namespace

Result<const Driver*> load_driver() {
  static const Result<Driver> loaded = open_driver();
  if (!loaded) return loaded.error();
  return &loaded.value();
}

const Driver& driver() {
  if (installed != nullptr) return *installed;
  const auto loaded = load_driver();
  if (!loaded) fail(ExitCode::environment, "{}", loaded.error().message);
  return **loaded;
}

ScopedDriver::ScopedDriver(const Driver& table) {
  AK_ASSERT(installed == nullptr, "one made-up driver at a time");
  installed = &table;
}
ScopedDriver::~ScopedDriver() { installed = nullptr; }

std::string describe(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver().cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown CUDA error";
  if (driver().cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) {
    return fmt::format("{} (code {})", name, static_cast<int>(result));
  }
  return fmt::format("{} ({})", name, text);
}

void throw_cuda_error(CUresult result, const std::string& activity) {
  throw CudaError(result, fmt::format("{}: {}", activity, describe(result)));
}

bool process_lost(CUresult result) {
  return std::find(kProcessLost.begin(), kProcessLost.end(), result) != kProcessLost.end();
}

bool hardware_failed(CUresult result) {
  return std::find(kHardwareFailed.begin(), kHardwareFailed.end(), result) != kHardwareFailed.end();
}

// A failed release follows an error that was already reported (the context is lost), so it is
// not reported again.
void unload_module(CUmodule module) noexcept { static_cast<void>(driver().cuModuleUnload(module)); }
void destroy_stream(CUstream stream) noexcept { static_cast<void>(driver().cuStreamDestroy(stream)); }
void destroy_event(CUevent event) noexcept { static_cast<void>(driver().cuEventDestroy(event)); }

ModuleHandle load_module(const std::string& image, const std::string& what) {
  CUmodule module = nullptr;
  check(driver().cuModuleLoadData(&module, image.data()), "loading {} ({} bytes)", what, image.size());
  return ModuleHandle(module);
}

CUfunction get_function(const ModuleHandle& module, const std::string& lowered_name) {
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module.get(), lowered_name.c_str()), "finding kernel {}",
        lowered_name);
  return function;
}

StreamHandle create_stream() {
  CUstream stream = nullptr;
  check(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "creating a stream");
  return StreamHandle(stream);
}

EventHandle create_event() {
  CUevent event = nullptr;
  check(driver().cuEventCreate(&event, CU_EVENT_DEFAULT), "creating an event");
  return EventHandle(event);
}

}  // namespace ak::runtime
