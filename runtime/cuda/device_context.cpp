// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/device_context.h"

#include "core/gate.h"
#include "runtime/cuda/launch_inspector.h"

namespace ak::runtime {
namespace {

constexpr std::size_t kPrintfBytes =
    1u << 20;  ///< the driver's default; stated so that it cannot be raised elsewhere
constexpr std::size_t kHeapBytes = 1u
                                   << 20;  ///< in-kernel malloc: the candidate contract has workspace instead

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device), "asking for device attribute {}",
        static_cast<int>(which));
  return value;
}

std::string uuid_text(CUdevice device) {
  CUuuid uuid{};
  check(driver().cuDeviceGetUuid(&uuid, device), "asking for a device's uuid");
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

Arch arch_of(CUdevice device) {
  Arch arch;
  arch.major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  arch.minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (arch.major >= 9) arch.feature = 'a';  // architecture-specific features begin with Hopper
  return arch;
}

DeviceFacts facts_of(int ordinal, CUdevice device) {
  char name[256] = {};
  check(driver().cuDeviceGetName(name, sizeof name - 1, device), "asking for the name of device {}", ordinal);
  std::size_t memory = 0;
  check(driver().cuDeviceTotalMem(&memory, device), "asking for the memory of device {}", ordinal);
  int version = 0;
  check(driver().cuDriverGetVersion(&version), "asking for the driver's version");
  DeviceFacts facts;
  facts.kind = driver().inspector != nullptr ? DeviceKind::emulator : DeviceKind::cuda;
  facts.name = name;
  if (facts.kind == DeviceKind::cuda) facts.uuid = uuid_text(device);
  facts.ordinal = ordinal;
  facts.arch = arch_of(device);
  facts.sm_count = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.max_threads_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  facts.l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.memory_bytes = static_cast<std::int64_t>(memory);
  facts.shared_bytes_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  facts.clock_mhz = attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
  facts.memory_clock_mhz = attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1000;
  facts.memory_bus_bits = attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  facts.driver_version = version;
  return facts;
}

int initialise() {
  check(driver().cuInit(0), "starting the CUDA driver");
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "counting CUDA devices");
  if (count == 0) fail(ExitCode::environment, "the CUDA driver reports no device");
  return count;
}

CUdevice device_at(int ordinal) {
  CUdevice device = 0;
  check(driver().cuDeviceGet(&device, ordinal), "opening device {}", ordinal);
  return device;
}

void set_limits() {
  check(driver().cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, kPrintfBytes), "limiting the printf buffer");
  check(driver().cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, kHeapBytes), "limiting the device heap");
}

}  // namespace

std::vector<DeviceFacts> describe_devices() {
  std::vector<DeviceFacts> devices;
  const int count = initialise();
  for (int i = 0; i < count; ++i) devices.push_back(facts_of(i, device_at(i)));
  return devices;
}

DeviceContext::DeviceContext(int ordinal) : ordinal_(ordinal) {
  const int count = initialise();
  if (ordinal < 0 || ordinal >= count) {
    fail(ExitCode::usage, "there is no CUDA device {}: the driver reports {} (0 to {})", ordinal, count,
         count - 1);
  }
  device_ = device_at(ordinal);
  facts_ = facts_of(ordinal, device_);
  CUcontext context = nullptr;
  check(driver().cuDevicePrimaryCtxRetain(&context, device_), "opening a context on device {} ({})", ordinal,
        facts_.name);
  try {
    check(driver().cuCtxSetCurrent(context), "using the context of device {}", ordinal);
    if (gate_enabled(Gate::context_limits)) set_limits();
  } catch (...) {
    static_cast<void>(driver().cuDevicePrimaryCtxRelease(device_));
    throw;
  }
}

DeviceContext::~DeviceContext() { static_cast<void>(driver().cuDevicePrimaryCtxRelease(device_)); }

}  // namespace ak::runtime
