// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/ptx/cuda_program.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/compile.h"
#include "runtime/ptx/parser.h"

namespace ak::ptx::test {
namespace {

runtime::Compiler& compiler() {
  static runtime::Compiler instance = [] {
    const auto toolkit = runtime::find_cuda_toolkit();
    REQUIRE(toolkit);
    const auto nvrtc = runtime::load_nvrtc(toolkit->nvrtc_library);
    REQUIRE(nvrtc);
    return runtime::Compiler(*nvrtc, *toolkit);
  }();
  return instance;
}

SymbolAddresses place_globals(const Module& module, Arena& arena) {
  SymbolAddresses addresses;
  for (const Variable& variable : module.variables) {
    if (variable.space != Space::global && variable.space != Space::constant) continue;
    const auto at = arena.allocate(std::max<std::uint64_t>(variable.bytes, 1), variable.name);
    REQUIRE(at.has_value());
    std::memset(arena.host(*at, variable.bytes), 0, variable.bytes);
    std::memcpy(arena.host(*at, variable.bytes), variable.contents.data(), variable.contents.size());
    arena.mark_initialized(*at, variable.bytes, true);
    addresses[variable.name] = *at;
  }
  return addresses;
}

}  // namespace

CudaProgram::CudaProgram(const std::string& source, const std::string& kernel, Arch arch,
                         std::vector<std::string> options) {
  arena_.track_initialized(true);
  TranslationUnit unit;
  unit.file_name = "kernel.cu";
  unit.source = source;
  unit.arch = arch;
  unit.kernels = {kernel};
  unit.options = {"--std=c++17", "--generate-line-info", "--device-as-default-execution-space"};
  unit.options.insert(unit.options.end(), options.begin(), options.end());
  const BuildResult build = compiler().compile(unit);
  INFO(build.outcome.message);
  INFO(build.log);
  REQUIRE(build.outcome.status == Status::ok);
  const auto module = parse(build.ptx);
  if (!module) FAIL("PTX line " << module.error().line << ": " << module.error().message);
  const auto entry = std::find_if(module->functions.begin(), module->functions.end(), [&](const Function& f) {
    return f.name == build.kernels.front().lowered_name;
  });
  REQUIRE(entry != module->functions.end());
  auto lowered = lower(*module, *entry, place_globals(*module, arena_));
  if (!lowered) FAIL(lowered.error().message);
  program_ = std::move(lowered).value();
}

std::uint64_t CudaProgram::memory(std::uint64_t bytes, const std::string& name) {
  const auto at = arena_.allocate(bytes, name);
  REQUIRE(at.has_value());
  return *at;
}

LaunchReport CudaProgram::launch(LaunchRequest request) {
  REQUIRE(arguments_.size() == program_.parameters.size());
  request.parameters.resize(program_.parameter_bytes);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    REQUIRE(arguments_[i].size() == program_.parameters[i].bytes);
    std::memcpy(request.parameters.data() + program_.parameters[i].offset, arguments_[i].data(),
                arguments_[i].size());
  }
  arguments_.clear();
  request.launch_base = next_launch_;
  next_launch_ += std::uint64_t{request.grid[0]} * request.grid[1] * request.grid[2];
  return run_grid(program_, arena_, request);
}

LaunchReport CudaProgram::launch_cleanly(LaunchRequest request) {
  LaunchReport report = launch(std::move(request));
  for (const Finding& finding : report.findings.all()) FAIL_CHECK(describe(program_, finding, "kernel.cu"));
  return report;
}

}  // namespace ak::ptx::test
