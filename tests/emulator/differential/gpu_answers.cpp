// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/differential/gpu_answers.h"

#include <dlfcn.h>

#include <array>

namespace ak::emulator::differential {
namespace {

constexpr std::size_t kBufferBytes = 1u << 20;  // no case has more inputs or outputs

// Two functions that the runtime has no use for: it never uploads, and it loads what NVRTC has compiled.
template <class Function>
Function find(const char* name) {
  static_cast<void>(runtime::driver());  // the library stays loaded
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* function = library != nullptr ? dlsym(library, name) : nullptr;
  if (function == nullptr) fail(ExitCode::environment, "the NVIDIA driver lacks {}", name);
  return reinterpret_cast<Function>(function);
}

void upload(CUdeviceptr to, const std::vector<std::uint64_t>& from) {
  static const auto copy = find<decltype(&::cuMemcpyHtoD)>("cuMemcpyHtoD_v2");
  if (!from.empty()) runtime::check(copy(to, from.data(), from.size() * 8), "uploading inputs");
}

struct Loaded {
  runtime::ModuleHandle module;  // empty: refused
  std::string refusal;
};

Loaded load(std::span<const Case> cases, int optimization) {
  static const auto load_data = find<decltype(&::cuModuleLoadDataEx)>("cuModuleLoadDataEx");
  const std::string text = module_of(cases);
  std::array<char, 2048> log{};
  std::array options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                        CU_JIT_OPTIMIZATION_LEVEL};
  std::array<void*, 3> values = {log.data(), reinterpret_cast<void*>(log.size()),
                                 reinterpret_cast<void*>(static_cast<std::uintptr_t>(optimization))};
  CUmodule module = nullptr;
  const CUresult result =
      load_data(&module, text.c_str(), static_cast<unsigned>(options.size()), options.data(), values.data());
  if (runtime::process_lost(result)) runtime::throw_cuda_error(result, "loading a module");
  if (result != CUDA_SUCCESS) return {{}, runtime::describe(result) + " " + log.data()};
  return {runtime::ModuleHandle(module), {}};
}

}  // namespace

Gpu::Gpu(int optimization)
    : optimization_(optimization),
      context_(0),
      inputs_(kBufferBytes, "inputs"),
      outputs_(kBufferBytes, "outputs") {}

GpuAnswer Gpu::run(CUfunction function, const Case& one) {
  AK_ASSERT(one.inputs.size() * 8 <= kBufferBytes && one.output_bytes() <= kBufferBytes, "the case fits");
  upload(inputs_.address(), one.inputs);
  runtime::check(runtime::driver().cuMemsetD8Async(outputs_.address(), 0, one.output_bytes(), nullptr),
                 "clearing outputs");
  CUdeviceptr in = inputs_.address(), out = outputs_.address();
  std::array<void*, 2> arguments = {&in, &out};
  CUlaunchConfig config{};
  config.gridDimX = one.blocks;
  config.blockDimX = one.threads;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  runtime::check(runtime::driver().cuLaunchKernelEx(&config, function, arguments.data(), nullptr),
                 "launching {}", one.name);
  runtime::check(runtime::driver().cuCtxSynchronize(), "running {}", one.name);
  GpuAnswer answer;
  answer.output.resize(one.output_bytes());
  runtime::check(runtime::driver().cuMemcpyDtoH(answer.output.data(), out, answer.output.size()),
                 "downloading");
  return answer;
}

std::vector<GpuAnswer> Gpu::answers(std::span<const Case> cases) {
  std::vector<GpuAnswer> all;
  const Loaded loaded = load(cases, optimization_);
  if (loaded.module.get() == nullptr && cases.size() == 1) return {{{}, loaded.refusal}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (loaded.module.get() != nullptr)
      all.push_back(run(runtime::get_function(loaded.module, cases[i].entry), cases[i]));
    else  // one of them is refused: which?
      all.push_back(answers(cases.subspan(i, 1)).front());
  }
  return all;
}

}  // namespace ak::emulator::differential
