// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <string>
#include <utility>

#include "core/error.h"
#include "core/result.h"
#include "core/unique_handle.h"

/// Every driver function used. cuda.h maps unversioned names to versioned ones (cuMemAlloc -> cuMemAlloc_v2),
/// and the preprocessor does the same for the members and the strings made from this list.
// clang-format off
#define AK_DRIVER_FUNCTIONS(X)                                                                             \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                    \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceTotalMem)             \
  X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)                         \
  X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize) X(cuCtxSetLimit)           \
  X(cuCtxResetPersistingL2Cache)                                                                           \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetGlobal)                        \
  X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncGetParamInfo) X(cuLaunchKernelEx)                    \
  X(cuOccupancyMaxActiveClusters)                                                                          \
  X(cuMemAlloc) X(cuMemFree) X(cuMemsetD8Async) X(cuMemcpyDtoH) X(cuMemcpyDtoDAsync) X(cuMemcpyHtoDAsync)  \
  X(cuMemGetAllocationGranularity) X(cuMemCreate) X(cuMemRelease) X(cuMemAddressReserve)                   \
  X(cuMemAddressFree) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) X(cuMemExportToShareableHandle)           \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize)                                              \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventElapsedTime) X(cuTensorMapEncodeTiled)
// clang-format on

namespace ak::runtime {

class LaunchInspector;

/// The CUDA driver API as a table: loaded with dlopen, of the CPU device, or made up by a test.
struct Driver {
#define AK_DRIVER_MEMBER(name) decltype(&::name) name = nullptr;
  AK_DRIVER_FUNCTIONS(AK_DRIVER_MEMBER)
#undef AK_DRIVER_MEMBER
  LaunchInspector* inspector = nullptr;  ///< of the CPU device; null on a GPU
};

/// Loads libcuda.so.1 once per process. Error: no driver, or one too old for a function; says which.
[[nodiscard]] Result<const Driver*> load_driver();

/// The installed table, or the loaded one. Throws Error(environment) with load_driver's reason.
[[nodiscard]] const Driver& driver();

/// Replaces the table while it lives: for the CPU device and tests. Not to be nested or used
/// from several threads.
class ScopedDriver {
 public:
  explicit ScopedDriver(const Driver& table);
  ~ScopedDriver();
  ScopedDriver(const ScopedDriver&) = delete;
  ScopedDriver& operator=(const ScopedDriver&) = delete;
};

/// A driver call failed.
class CudaError : public Error {
 public:
  CudaError(CUresult result, const std::string& message)
      : Error(ExitCode::environment, message), result_(result) {}
  [[nodiscard]] CUresult result() const noexcept { return result_; }

 private:
  CUresult result_;
};

/// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
[[nodiscard]] std::string describe(CUresult result);
[[noreturn]] void throw_cuda_error(CUresult result, const std::string& activity);

/// Throws CudaError("<what we were doing>: <name of the error>") unless `result` is success.
template <class... Args>
void check(CUresult result, fmt::format_string<Args...> activity, Args&&... args) {
  if (result != CUDA_SUCCESS) throw_cuda_error(result, fmt::format(activity, std::forward<Args>(args)...));
}

/// True for exactly the codes after which the process cannot use the device any more and must be relaunched.
[[nodiscard]] bool process_lost(CUresult result);
/// True for those of them that the hardware causes, and no program.
[[nodiscard]] bool hardware_failed(CUresult result);

void unload_module(CUmodule module) noexcept;
void destroy_stream(CUstream stream) noexcept;
void destroy_event(CUevent event) noexcept;
using ModuleHandle = UniqueHandle<CUmodule, unload_module>;
using StreamHandle = UniqueHandle<CUstream, destroy_stream>;
using EventHandle = UniqueHandle<CUevent, destroy_event>;

/// @param image a cubin, PTX text for the CPU device; copied by the driver.
[[nodiscard]] ModuleHandle load_module(const std::string& image, const std::string& what);
[[nodiscard]] CUfunction get_function(const ModuleHandle& module, const std::string& lowered_name);
[[nodiscard]] StreamHandle create_stream();
[[nodiscard]] EventHandle create_event();

}  // namespace ak::runtime
