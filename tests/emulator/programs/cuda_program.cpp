// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/programs/cuda_program.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <span>

#include "codegen/source/assemble.h"
#include "emulator/lower/call_graph.h"
#include "emulator/parse/parser.h"
#include "runtime/build/compile.h"

namespace ak::emulator::test {
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
    std::ranges::copy(std::as_bytes(std::span(variable.contents)), arena.host(*at, variable.bytes));
    arena.mark_initialized(*at, variable.bytes, true);
    addresses[variable.name] = *at;
  }
  for (const Variable& variable : module.variables) {
    for (const Relocation& relocation : variable.relocations) {
      const auto function = function_address(module, relocation.symbol);
      const std::uint64_t value = (function ? *function : addresses.at(relocation.symbol)) +
                                  static_cast<std::uint64_t>(relocation.offset);
      std::memcpy(arena.host(addresses.at(variable.name), variable.bytes) + relocation.at, &value,
                  static_cast<std::size_t>(relocation.bytes));
    }
  }
  return addresses;
}

struct Built {
  TranslationUnit unit;
  Module module;
  std::string lowered_name;  ///< of unit.kernels.front()
};

Built build(const TranslationUnit& unit) {
  const BuildResult result = compiler().compile(unit);
  INFO(result.outcome.message);
  INFO(result.log);
  REQUIRE(result.outcome.status == Status::ok);
  auto module = parse(result.ptx);
  if (!module) FAIL("PTX line " << module.error().line << ": " << module.error().message);
  return {unit, std::move(module).value(), result.kernels.front().lowered_name};
}

const Function* entry_named(const Module& module, const std::string& name) {
  const auto found = std::find_if(module.functions.begin(), module.functions.end(),
                                  [&](const Function& f) { return f.entry && f.name == name; });
  return found != module.functions.end() ? &*found : nullptr;
}

/// The last build is kept, since sources with many extern "C" kernels take seconds.
const Built& last_build(const TranslationUnit& unit) {
  static std::optional<Built> last;
  const bool same = last && last->unit.source == unit.source && last->unit.options == unit.options &&
                    last->unit.arch.sm() == unit.arch.sm();
  if (!same ||
      (last->unit.kernels != unit.kernels && entry_named(last->module, unit.kernels.front()) == nullptr))
    last.emplace(build(unit));
  return *last;
}

}  // namespace

CudaProgram::CudaProgram(const std::string& source, const std::string& kernel, Arch arch,
                         std::vector<std::string> options) {
  arena_.track_initialized(true);
  TranslationUnit unit = codegen::assemble_plain("kernel.cu", source, arch);
  unit.kernels = {kernel};
  unit.options.insert(unit.options.end(), options.begin(), options.end());
  const Built& built = last_build(unit);
  const Function* entry = entry_named(built.module, kernel);
  if (entry == nullptr) entry = entry_named(built.module, built.lowered_name);
  REQUIRE(entry != nullptr);
  auto lowered = lower(built.module, *entry, place_globals(built.module, arena_));
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

}  // namespace ak::emulator::test
