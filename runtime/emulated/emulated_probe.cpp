// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulated/emulated_probe.h"

#include <fmt/format.h>

#include <array>

#include "runtime/emulated/emulated_device.h"

namespace ak::runtime {
namespace {

// Every thread writes its number into its place.
constexpr const char* kKernel = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry probe(.param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)";

std::string run_probe(EmulatedDevice& device) {
  std::array<std::uint32_t, 64> numbers{};
  CUdeviceptr out = 0;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  if (device.allocate(out, sizeof numbers) != CUDA_SUCCESS) return "no memory for a buffer";
  const auto failed = [&](CUresult result) { return result != CUDA_SUCCESS; };
  if (failed(device.load(module, kKernel)) || failed(device.find_kernel(kernel, module, "probe")))
    return "a program was refused";
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = static_cast<unsigned>(numbers.size());
  void* arguments[] = {&out};
  device.set_inspection({.check = true});
  if (failed(device.launch(config, *reinterpret_cast<EmulatedFunction*>(kernel), arguments)))
    return "a launch failed";
  if (failed(device.copy_to_host(numbers.data(), out, sizeof numbers))) return "results could not be read";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != i) return fmt::format("thread {} wrote {}", i, numbers[i]);
  }
  return {};
}

}  // namespace

std::string try_emulated_device(const Arch& target) {
  try {
    EmulatedDevice device(target);
    return run_probe(device);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace ak::runtime
