// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulated/emulated_driver.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "runtime/emulated/emulated_launch.h"
#include "runtime/emulated/emulated_tensor_map.h"

namespace ak::runtime {
namespace {

// Driver functions have no argument for the device they work on.
EmulatedDevice* current = nullptr;

constexpr std::size_t kGranularity = 64u
                                     << 10;  ///< of virtual memory; smaller than a GPU's 2 MiB to save room

struct ErrorText {
  CUresult result;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "no kernel of that name"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "not supported by the CPU emulator"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "a misaligned address"},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "an address of another space"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction"},
    {CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT", "a device-side assert failed"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "the kernel failed"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the kernel did not end"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "more threads than the launch bounds allow"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "too many blocks for a cooperative launch"},
    {CUDA_ERROR_INVALID_CLUSTER_SIZE, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "too many blocks in a cluster"},
};

const ErrorText* find_error(CUresult result) {
  const auto found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                  [&](const ErrorText& e) { return e.result == result; });
  return found == std::end(kErrors) ? nullptr : found;
}

CUresult error_name(CUresult result, const char** name) {
  const ErrorText* found = find_error(result);
  *name = found != nullptr ? found->name : nullptr;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// What was found is worth more than what the code means in general.
CUresult error_text(CUresult result, const char** text) {
  const ErrorText* found = find_error(result);
  const std::string& words = current->message_for(result);
  *text = !words.empty() ? words.c_str() : found != nullptr ? found->text : nullptr;
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult device_attribute(int* value, CUdevice_attribute which, CUdevice) {
  const DeviceFacts& facts = current->facts();
  const std::pair<CUdevice_attribute, std::int64_t> known[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, facts.arch.major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, facts.arch.minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, facts.sm_count},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, facts.max_threads_per_sm},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, facts.l2_bytes},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, facts.shared_bytes_per_block},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000 * facts.clock_mhz},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000 * facts.memory_clock_mhz},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, facts.memory_bus_bits},
  };
  for (const auto& [attribute, number] : known) {
    if (attribute != which) continue;
    *value = static_cast<int>(number);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult device_name(char* name, int length, CUdevice) {
  if (length < 1) return CUDA_ERROR_INVALID_VALUE;
  const std::string& text = current->facts().name;
  const std::size_t kept = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(name, text.data(), kept);
  name[kept] = 0;
  return CUDA_SUCCESS;
}

EmulatedFunction& function_of(CUfunction function) { return *reinterpret_cast<EmulatedFunction*>(function); }

CUresult function_attribute(int* value, CUfunction_attribute which, CUfunction function) {
  const EmulatedFunction& kernel = function_of(function);
  if (which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) {
    *value = static_cast<int>(kernel.program.maximum_threads);
  } else if (which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) {
    *value = static_cast<int>(kernel.program.static_shared_bytes);
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult set_function_attribute(CUfunction function, CUfunction_attribute which, int value) {
  EmulatedFunction& kernel = function_of(function);
  if (value < 0) return CUDA_ERROR_INVALID_VALUE;
  if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    if (kernel.program.static_shared_bytes + std::int64_t{value} > current->facts().shared_bytes_per_block)
      return CUDA_ERROR_INVALID_VALUE;
    kernel.max_dynamic_shared = static_cast<std::uint32_t>(value);
  } else if (which == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    kernel.large_clusters = value != 0;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult parameter_info(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* size) {
  const auto& parameters = function_of(function).program.parameters;
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  if (offset != nullptr) *offset = parameters[index].offset;
  if (size != nullptr) *size = parameters[index].bytes;
  return CUDA_SUCCESS;
}

/// An event is the host's time: launches have ended when their calls return.
struct EmulatedEvent {
  std::chrono::steady_clock::time_point recorded;
};
EmulatedEvent* event_of(CUevent event) { return reinterpret_cast<EmulatedEvent*>(event); }

CUresult create_event(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(std::make_unique<EmulatedEvent>().release());
  return CUDA_SUCCESS;
}

CUresult destroy_event(CUevent event) {
  const std::unique_ptr<EmulatedEvent> owned(event_of(event));
  return CUDA_SUCCESS;
}

CUresult elapsed(float* ms, CUevent from, CUevent to) {
  *ms = std::chrono::duration<float, std::milli>(event_of(to)->recorded - event_of(from)->recorded).count();
  return CUDA_SUCCESS;
}

/// Streams and contexts have no state here; a handle only has to differ from null.
template <class Handle>
CUresult some_handle(Handle* handle) {
  *handle = reinterpret_cast<Handle>(std::uintptr_t{1});
  return CUDA_SUCCESS;
}

void add_device_functions(Driver& table) {
  table.cuInit = [](unsigned) { return CUDA_SUCCESS; };
  table.cuDriverGetVersion = [](int* version) {
    return *version = current->facts().driver_version, CUDA_SUCCESS;
  };
  table.cuGetErrorName = error_name;
  table.cuGetErrorString = error_text;
  table.cuDeviceGetCount = [](int* count) { return *count = 1, CUDA_SUCCESS; };
  table.cuDeviceGet = [](CUdevice* device, int ordinal) {
    return *device = 0, ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  table.cuDeviceGetName = device_name;
  table.cuDeviceGetUuid = [](CUuuid* uuid, CUdevice) { return *uuid = {}, CUDA_SUCCESS; };
  table.cuDeviceTotalMem = [](std::size_t* bytes, CUdevice) {
    return *bytes = static_cast<std::size_t>(current->facts().memory_bytes), CUDA_SUCCESS;
  };
  table.cuDeviceGetAttribute = device_attribute;
  table.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) { return some_handle(context); };
  table.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
  table.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  table.cuCtxGetDevice = [](CUdevice* device) { return *device = 0, CUDA_SUCCESS; };
  table.cuCtxSynchronize = [] { return CUDA_SUCCESS; };
  table.cuCtxSetLimit = [](CUlimit, std::size_t) { return CUDA_SUCCESS; };
  table.cuCtxResetPersistingL2Cache = [] { return CUDA_SUCCESS; };
  table.cuStreamCreate = [](CUstream* stream, unsigned) { return some_handle(stream); };
  table.cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
  table.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  table.cuEventCreate = create_event;
  table.cuEventDestroy = destroy_event;
  table.cuEventRecord = [](CUevent event, CUstream) {
    return event_of(event)->recorded = std::chrono::steady_clock::now(), CUDA_SUCCESS;
  };
  table.cuEventElapsedTime = elapsed;
}

void add_program_functions(Driver& table) {
  table.cuModuleLoadData = [](CUmodule* module, const void* image) {
    return current->load(*module, static_cast<const char*>(image));
  };
  table.cuModuleUnload = [](CUmodule module) { return current->unload(module); };
  table.cuModuleGetFunction = [](CUfunction* function, CUmodule module, const char* name) {
    return current->find_kernel(*function, module, name);
  };
  table.cuModuleGetGlobal = [](CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
    return current->find_variable(*address, *bytes, module, name);
  };
  table.cuFuncGetAttribute = function_attribute;
  table.cuFuncSetAttribute = set_function_attribute;
  table.cuFuncGetParamInfo = parameter_info;
  table.cuLaunchKernelEx = [](const CUlaunchConfig* config, CUfunction function, void** arguments,
                              void** extra) {
    if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    return current->launch(*config, function_of(function), arguments);
  };
  table.cuOccupancyMaxActiveClusters = [](int* clusters, CUfunction function, const CUlaunchConfig* config) {
    return max_active_clusters(*clusters, *config, function_of(function), current->facts());
  };
  table.cuTensorMapEncodeTiled = encode_emulated_tensor_map;
}

void add_memory_functions(Driver& table) {
  table.cuMemAlloc = [](CUdeviceptr* address, std::size_t bytes) {
    return current->allocate(*address, bytes);
  };
  table.cuMemFree = [](CUdeviceptr address) { return current->release(address); };
  table.cuMemsetD8Async = [](CUdeviceptr address, unsigned char value, std::size_t bytes, CUstream) {
    return current->fill(address, value, bytes);
  };
  table.cuMemcpyDtoH = [](void* to, CUdeviceptr from, std::size_t bytes) {
    return current->copy_to_host(to, from, bytes);
  };
  table.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    return current->copy_from_host(to, from, bytes);
  };
  table.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
    return current->copy(to, from, bytes);
  };
  table.cuMemGetAllocationGranularity = [](std::size_t* bytes, const CUmemAllocationProp*,
                                           CUmemAllocationGranularity_flags) {
    return *bytes = kGranularity, CUDA_SUCCESS;
  };
  table.cuMemCreate = [](CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp*,
                         unsigned long long) { return current->create_memory(*handle, bytes); };
  table.cuMemRelease = [](CUmemGenericAllocationHandle handle) { return current->release_memory(handle); };
  table.cuMemAddressReserve = [](CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr,
                                 unsigned long long) { return current->reserve_addresses(*address, bytes); };
  table.cuMemAddressFree = [](CUdeviceptr address, std::size_t) { return current->free_addresses(address); };
  table.cuMemMap = [](CUdeviceptr address, std::size_t bytes, std::size_t offset,
                      CUmemGenericAllocationHandle handle, unsigned long long) {
    return offset != 0 ? CUDA_ERROR_NOT_SUPPORTED : current->map(address, bytes, handle);
  };
  table.cuMemUnmap = [](CUdeviceptr address, std::size_t) { return current->unmap(address); };
  table.cuMemSetAccess = [](CUdeviceptr address, std::size_t, const CUmemAccessDesc*, std::size_t) {
    return current->set_access(address);
  };
}

}  // namespace

EmulatedDriver::EmulatedDriver(const Arch& target, int sm_count)
    : target_(target), device_(std::make_unique<EmulatedDevice>(target, wall_clock_ns(), sm_count)) {
  AK_ASSERT(current == nullptr, "one emulated device a process");
  add_device_functions(table_);
  add_program_functions(table_);
  add_memory_functions(table_);
  table_.inspector = device_.get();
  current = device_.get();
  installed_.emplace(table_);
}

EmulatedDriver::~EmulatedDriver() {
  installed_.reset();
  current = nullptr;
}

}  // namespace ak::runtime
