// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile_worker.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "core/text/suggest.h"
#include "runtime/build/build_key.h"
#include "runtime/build/compile.h"
#include "runtime/build/fixed_clock.h"
#include "runtime/build/include_check.h"
#include "runtime/build/pch_folder.h"
#include "runtime/process/sandbox.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

// Above a precompiled header of every CUDA header at once (150 MB, measured).
constexpr std::size_t kFileBytes = std::size_t{512} << 20;

// Has NVRTC load what it loads late (libnvrtc-builtins): inside the sandbox it could not.
void warm_up(const Nvrtc& nvrtc, const CudaToolkit& toolkit) {
  TranslationUnit unit;
  unit.file_name = "warm_up.cu";
  unit.source =
      "extern \"C\" __global__ void warm_up(float* x) { x[threadIdx.x] = __sinf(x[threadIdx.x]); }\n";
  unit.kernels = {"warm_up"};
  unit.arch = nvrtc.archs().back();
  const auto result = Compiler(nvrtc, toolkit).compile(unit);
  if (result.outcome.status != Status::ok)
    fail(ExitCode::environment, "NVRTC {} cannot build an empty kernel: {}", nvrtc.version(),
         result.outcome.message);
}

Json describe(const Nvrtc& nvrtc, const Confinement& confinement) {
  Json facts = Json::object();
  facts["nvrtc_version"] = nvrtc.version();
  facts["archs"] = Json::array();
  for (const auto& arch : nvrtc.archs()) facts["archs"].push_back(arch.sm());
  facts["landlock_abi"] = confinement.landlock_abi;
  facts["filtered"] = confinement.filtered;
  facts["degradation"] = confinement.degradation;
  return facts;
}

Diagnostic unsafe_name(const std::string& name) {
  return {"error", fmt::format("'{}' is not the name of a kernel", sanitize(name, 200)), 0, 0};
}

/// What in the unit could read a file; names are pasted into the source by NVRTC.
std::optional<Diagnostic> find_unsafe(const TranslationUnit& unit, bool can_open_files) {
  const auto name = std::ranges::find_if_not(unit.kernels, is_name_expression);
  if (name != unit.kernels.end()) return unsafe_name(*name);
  return can_open_files ? find_unsafe_include(unit.source) : std::nullopt;
}

BuildResult refusal(const TranslationUnit& unit, const Nvrtc& nvrtc, Diagnostic diagnostic) {
  BuildResult result;
  result.key = BuildKey::of(unit, nvrtc.version()).text();
  result.nvrtc_version = nvrtc.version();
  result.outcome = {
      Status::invalid_candidate, StageId::build, diagnostic.message, {diagnostic}, Gate::includes};
  return result;
}

class Service {
 public:
  explicit Service(const CudaToolkit& toolkit) : folder_(make_pch_folder()), nvrtc_(load(toolkit)) {
    stop_the_clock();
    if (gate_enabled(Gate::compile_limits)) limit_resources(kCompileWorkerBytes, kFileBytes);
    // NVRTC writes a precompiled header to a temporary file first; elsewhere the confinement would refuse it.
    if (!folder_.empty()) ::setenv("TMPDIR", folder_.c_str(), 1);
    warm_up(nvrtc_, toolkit);
    if (gate_enabled(Gate::includes)) confinement_ = confine({toolkit.include_dirs, {folder_}});
    compiler_.emplace(nvrtc_, toolkit, folder_);
  }

  [[nodiscard]] Json facts() const { return describe(nvrtc_, confinement_); }

  [[nodiscard]] BuildResult build(const TranslationUnit& unit) {
    if (gate_enabled(Gate::includes))
      if (auto unsafe = find_unsafe(unit, confinement_.landlock_abi == 0))
        return refusal(unit, nvrtc_, std::move(*unsafe));
    limit_cpu_time(kBuildCpuTime);
    return compiler_->compile(unit);
  }

 private:
  static Nvrtc load(const CudaToolkit& toolkit) {
    auto nvrtc = load_nvrtc(toolkit.nvrtc_library);
    if (!nvrtc) fail(ExitCode::environment, "{}", nvrtc.error().message);
    return *nvrtc;
  }

  fs::path folder_;  ///< before NVRTC is loaded, because a small process waits to remove it
  Nvrtc nvrtc_;
  Confinement confinement_;
  std::optional<Compiler> compiler_;
};

Json unavailable(std::string reason) {
  Json facts = Json::object();
  facts["unavailable"] = std::move(reason);
  return facts;
}

}  // namespace

int serve_compile(WorkerChannel& channel, RequestHandler other) {
  std::optional<Service> service;
  const auto toolkit = find_cuda_toolkit();
  try {
    if (!toolkit) fail(ExitCode::environment, "{}", toolkit.error().message);
    service.emplace(*toolkit);
  } catch (const Error& error) {
    channel.answer_hello(unavailable(error.what()));
    return static_cast<int>(error.code());
  }
  channel.answer_hello(service->facts());
  while (const auto request = channel.receive()) {
    if (request->type == "compile") {
      channel.respond(*request, "built", to_json(service->build(translation_unit_from_json(request->body))));
    } else if (other != nullptr) {
      channel.respond(*request, "answered", other(*request));
    } else {
      return static_cast<int>(ExitCode::bad_input);
    }
  }
  return 0;
}

}  // namespace ak::runtime
