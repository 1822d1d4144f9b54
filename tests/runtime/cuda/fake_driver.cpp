// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/cuda/fake_driver.h"

namespace ak::test {
namespace {

FakeDriver* current = nullptr;

CUresult acquire() {
  if (current->calls_before_failure == 0) {
    current->calls_before_failure = -1;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (current->calls_before_failure > 0) --current->calls_before_failure;
  ++current->live;
  return CUDA_SUCCESS;
}

CUresult attempt() {
  const CUresult result = acquire();
  if (result == CUDA_SUCCESS) --current->live;
  return result;
}

CUresult release() {
  --current->live;
  return CUDA_SUCCESS;
}

template <class Handle>
Handle some_handle() {
  return reinterpret_cast<Handle>(std::uintptr_t{0x1000});
}

runtime::Driver make_table() {
  runtime::Driver table;
  table.cuGetErrorName = [](CUresult, const char** name) { return *name = "FAKE_ERROR", CUDA_SUCCESS; };
  table.cuGetErrorString = [](CUresult, const char** text) { return *text = "made up", CUDA_SUCCESS; };
  table.cuMemAlloc = [](CUdeviceptr* address, std::size_t) { return *address = 0x100000, acquire(); };
  table.cuMemFree = [](CUdeviceptr) { return release(); };
  table.cuMemsetD8Async = [](CUdeviceptr, unsigned char, std::size_t, CUstream) { return attempt(); };
  table.cuModuleLoadData = [](CUmodule* module, const void*) {
    return *module = some_handle<CUmodule>(), acquire();
  };
  table.cuModuleUnload = [](CUmodule) { return release(); };
  table.cuModuleGetFunction = [](CUfunction* function, CUmodule, const char*) {
    return *function = some_handle<CUfunction>(), attempt();
  };
  table.cuCtxGetDevice = [](CUdevice* device) { return *device = 0, CUDA_SUCCESS; };
  table.cuStreamCreate = [](CUstream* stream, unsigned) {
    return *stream = some_handle<CUstream>(), acquire();
  };
  table.cuStreamDestroy = [](CUstream) { return release(); };
  table.cuEventCreate = [](CUevent* event, unsigned) { return *event = some_handle<CUevent>(), acquire(); };
  table.cuEventDestroy = [](CUevent) { return release(); };
  table.cuMemGetAllocationGranularity = [](std::size_t* bytes, const CUmemAllocationProp*,
                                           CUmemAllocationGranularity_flags) {
    return *bytes = 2u << 20, attempt();
  };
  table.cuMemCreate = [](CUmemGenericAllocationHandle* handle, std::size_t, const CUmemAllocationProp*,
                         unsigned long long) { return *handle = 7, acquire(); };
  table.cuMemRelease = [](CUmemGenericAllocationHandle) { return release(); };
  table.cuMemAddressReserve = [](CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr,
                                 unsigned long long) {
    current->reserved = {.address = 0x200000, .bytes = bytes};
    return *address = 0x200000, acquire();
  };
  table.cuMemAddressFree = [](CUdeviceptr, std::size_t) { return release(); };
  table.cuMemMap = [](CUdeviceptr address, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle,
                      unsigned long long) {
    current->mapped = {.address = address, .bytes = bytes};
    return acquire();
  };
  table.cuMemUnmap = [](CUdeviceptr, std::size_t) { return release(); };
  table.cuMemSetAccess = [](CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
    return attempt();
  };
  return table;
}

}  // namespace

FakeDriver::FakeDriver() : table_(make_table()), installed_(table_) { current = this; }
FakeDriver::~FakeDriver() { current = nullptr; }

}  // namespace ak::test
