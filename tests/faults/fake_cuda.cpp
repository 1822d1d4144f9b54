// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 with one GPU that fails as the file "fail" alongside it says: lines of a function and an error
// code. Every other call succeeds and does nothing.
#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <string>

#include "runtime/cuda/driver.h"

namespace {

int failure_of(const std::string& function) {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&failure_of), &self) == 0) return 0;
  std::string folder = self.dli_fname;
  std::ifstream file(folder.substr(0, folder.rfind('/') + 1) + "fail");
  std::string name;
  for (int code = 0; file >> name >> code;)
    if (name == function) return code;
  return 0;
}

template <class T>
int answer(void* to, T value) {
  *static_cast<T*>(to) = value;
  return 0;
}

int attribute(void* to, std::size_t which) {
  if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) return answer(to, 8);
  if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) return answer(to, 0);
  return answer(to, 1024);
}

/// What callers would not survive to find unset.
int succeed(const std::string& function, void* a, void* b) {
  if (function == "cuGetErrorName") return answer(b, "CUDA_ERROR_MADE_UP");
  if (function == "cuGetErrorString") return answer(b, "made up by the test");
  if (function == "cuDeviceGetCount") return answer(a, 1);
  if (function == "cuDriverGetVersion") return answer(a, 13000);
  if (function == "cuDeviceGet" || function == "cuCtxGetDevice") return answer(a, 0);
  if (function == "cuMemGetAllocationGranularity") return answer(a, std::size_t{1} << 21);
  if (function == "cuDeviceTotalMem") return answer(a, std::size_t{1} << 34);
  if (function == "cuDeviceGetAttribute") return attribute(a, reinterpret_cast<std::size_t>(b));
  if (function == "cuDeviceGetName") return std::strcpy(static_cast<char*>(a), "Fake GPU"), 0;
  if (function == "cuDeviceGetUuid") return std::memset(a, 7, sizeof(CUuuid)), 0;
  return 0;
}

int call(const char* function, void* a, void* b) {
  if (std::strcmp(function, "cuGetExportTable") == 0) return CUDA_ERROR_NOT_SUPPORTED;
  const int failure = failure_of(function);
  return failure != 0 ? failure : succeed(function, a, b);
}

}  // namespace

// All functions of the table under their exported names, which cuda.h's own macros give.
#define AK_STRING(name) #name
#define AK_EXPANDED(name) AK_STRING(name)
#define AK_FAKE(name)                                              \
  extern "C" int fake_##name(void*, void*) asm(AK_EXPANDED(name)); \
  int fake_##name(void* a, void* b) { return call(#name, a, b); }
AK_DRIVER_FUNCTIONS(AK_FAKE)
AK_FAKE(cuGetExportTable)  // NVRTC asks for it, and does without
