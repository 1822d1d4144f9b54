// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile.h"

#include <algorithm>
#include <chrono>

#include "core/text/suggest.h"
#include "runtime/build/build_key.h"
#include "runtime/build/compile_log.h"
#include "runtime/build/ptxas_facts.h"

namespace ak::runtime {
namespace {

std::vector<const char*> pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> result;
  for (const auto& text : strings) result.push_back(text.c_str());
  return result;
}

/// An nvrtcProgram; destroyed with the table that made it.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const TranslationUnit& unit, const std::string& source) : nvrtc_(nvrtc) {
    std::vector<const char*> names, texts;
    for (const auto& [name, text] : unit.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    status_ = nvrtc_.nvrtcCreateProgram(&handle_, source.c_str(), unit.file_name.c_str(),
                                        static_cast<int>(names.size()), texts.data(), names.data());
  }
  ~Program() {
    if (handle_ != nullptr) nvrtc_.nvrtcDestroyProgram(&handle_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& kernels, const std::vector<std::string>& options) {
    for (const auto& kernel : kernels)
      if (status_ == NVRTC_SUCCESS) status_ = nvrtc_.nvrtcAddNameExpression(handle_, kernel.c_str());
    const auto arguments = pointers(options);
    if (status_ == NVRTC_SUCCESS)
      status_ = nvrtc_.nvrtcCompileProgram(handle_, static_cast<int>(arguments.size()), arguments.data());
    return status_;
  }
  [[nodiscard]] std::string log() const {
    return text(nvrtc_.nvrtcGetProgramLogSize, nvrtc_.nvrtcGetProgramLog);
  }
  [[nodiscard]] std::string ptx() const { return text(nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX); }
  [[nodiscard]] std::string cubin() const { return bytes(nvrtc_.nvrtcGetCUBINSize, nvrtc_.nvrtcGetCUBIN); }
  [[nodiscard]] std::string lowered_name(const std::string& expression) const {
    const char* name = nullptr;
    const bool found = nvrtc_.nvrtcGetLoweredName(handle_, expression.c_str(), &name) == NVRTC_SUCCESS;
    return found && name != nullptr ? name : "";
  }

 private:
  template <class GetSize, class Get>
  std::string bytes(GetSize get_size, Get get) const {
    std::size_t size = 0;
    if (get_size(handle_, &size) != NVRTC_SUCCESS) return {};
    std::string result(size, '\0');
    if (get(handle_, result.data()) != NVRTC_SUCCESS) return {};
    return result;
  }
  template <class GetSize, class Get>
  std::string text(GetSize get_size, Get get) const {
    std::string result = bytes(get_size, get);
    while (result.ends_with('\0')) result.pop_back();
    return result;
  }

  const Nvrtc& nvrtc_;
  nvrtcProgram handle_ = nullptr;
  nvrtcResult status_ = NVRTC_SUCCESS;
};

std::string list(const std::vector<Arch>& archs) {
  std::string text;
  for (const auto& arch : archs) text += (text.empty() ? "" : " ") + arch.sm();
  return text;
}

// NVRTC's front end does not always say that memory ended: it may fail while reporting, and then
// names no error.
bool ended_for_memory(nvrtcResult status, std::string_view log, const std::vector<Diagnostic>& diagnostics) {
  if (status == NVRTC_ERROR_OUT_OF_MEMORY || log.find("out of memory") != std::string_view::npos) return true;
  return diagnostics.empty() && log.find("catastrophic error") != std::string_view::npos;
}

bool is_too_large_for_the_device(std::string_view log) {
  return log.find("ptxas error") != std::string_view::npos &&
         log.find("uses too much") != std::string_view::npos;
}

Outcome failure(nvrtcResult status, const Nvrtc& nvrtc, std::string_view log,
                std::vector<Diagnostic> diagnostics) {
  Outcome outcome{Status::compile_error, StageId::build, "", std::move(diagnostics), {}};
  if (ended_for_memory(status, log, outcome.diagnostics)) {
    outcome.status = Status::out_of_memory;
    outcome.gate = Gate::compile_limits;
    outcome.message = "the compiler ran out of memory on this source";
    return outcome;
  }
  if (is_too_large_for_the_device(log)) {
    outcome.status = Status::resource_exceeded;
    outcome.stage = StageId::resources;
    outcome.gate = Gate::resources;
  }
  outcome.message = outcome.diagnostics.empty()
                        ? fmt::format("NVRTC failed: {}", nvrtc.nvrtcGetErrorString(status))
                        : outcome.diagnostics.front().message;
  return outcome;
}

// True when an error is about a file that is not the candidate, as one in a header moved to the
// front would be.
bool blames_a_header(const Outcome& outcome) {
  return std::ranges::any_of(outcome.diagnostics, [](const Diagnostic& each) {
    return each.severity == "error" && each.line == 0 && each.message.find(" line ") != std::string::npos;
  });
}

// The front end works in a file where it makes or reads a precompiled header, and ends where that has no room.
bool has_no_room_for_a_header(std::string_view log) {
  return log.find("unable to obtain mapped memory") != std::string_view::npos;
}

}  // namespace

struct Compiler::Attempt {
  Outcome outcome;
  std::string log, ptx, cubin;
  std::vector<KernelFacts> kernels;
};

Compiler::Compiler(Nvrtc nvrtc, CudaToolkit toolkit, std::filesystem::path pch_folder)
    : nvrtc_(nvrtc), toolkit_(std::move(toolkit)), archs_(nvrtc_.archs()) {
  if (!pch_folder.empty() && nvrtc_.has_pch()) pch_.emplace(std::move(pch_folder), toolkit_.include_dirs);
}

bool Compiler::knows(const Arch& arch) const { return std::ranges::find(archs_, arch) != archs_.end(); }

BuildResult Compiler::compile(const TranslationUnit& unit) {
  const auto start = std::chrono::steady_clock::now();
  BuildResult result;
  result.nvrtc_version = nvrtc_.version();
  result.key = BuildKey::of(unit, result.nvrtc_version).text();
  if (!knows(unit.arch)) {
    result.outcome = {Status::unsupported,
                      StageId::build,
                      fmt::format("NVRTC {} does not build for {}; it knows {}", result.nvrtc_version,
                                  unit.arch.sm(), list(archs_)),
                      {}};
    return result;
  }
  const auto prefix = pch_ ? pch_->prefix_for(unit) : std::nullopt;
  Attempt attempt = run(unit, prefix);
  if (prefix && (blames_a_header(attempt.outcome) || has_no_room_for_a_header(attempt.log)))
    attempt = run(unit, std::nullopt);
  result.outcome = std::move(attempt.outcome);
  result.log = std::move(attempt.log);
  result.ptx = std::move(attempt.ptx);
  result.cubin = std::move(attempt.cubin);
  result.kernels = std::move(attempt.kernels);
  result.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

Compiler::Attempt Compiler::run(const TranslationUnit& unit, const std::optional<PchPrefix>& prefix) const {
  Attempt attempt;
  Program program(nvrtc_, unit, prefix ? prefix->text + unit.source : unit.source);
  const nvrtcResult status = program.compile(unit.kernels, options_for(unit, prefix));
  const std::string log = program.log();
  attempt.log = clean_compile_log(log);
  auto diagnostics = parse_compile_log(log, unit.file_name);
  if (status != NVRTC_SUCCESS) {
    attempt.outcome = failure(status, nvrtc_, log, std::move(diagnostics));
    return attempt;
  }
  attempt.outcome = {Status::ok, StageId::build, "", std::move(diagnostics)};
  attempt.ptx = program.ptx();
  attempt.cubin = program.cubin();
  for (const auto& expression : unit.kernels) {
    KernelFacts kernel;
    kernel.expression = expression;
    kernel.lowered_name = program.lowered_name(expression);
    read_ptxas_report(log, kernel);
    if (!read_entry(attempt.ptx, kernel))
      attempt.outcome = {Status::invalid_candidate,
                         StageId::build,
                         fmt::format("'{}' is not a __global__ function", sanitize(expression, 200)),
                         {}};
    attempt.kernels.push_back(std::move(kernel));
  }
  return attempt;
}

std::vector<std::string> Compiler::options_for(const TranslationUnit& unit,
                                               const std::optional<PchPrefix>& prefix) const {
  std::vector<std::string> options{"--gpu-architecture=" + unit.arch.sm()};
  options.insert(options.end(), unit.options.begin(), unit.options.end());
  for (const auto& folder : toolkit_.include_dirs) options.push_back("--include-path=" + folder.string());
  if (prefix) options.insert(options.end(), prefix->options.begin(), prefix->options.end());
  return options;
}

}  // namespace ak::runtime
