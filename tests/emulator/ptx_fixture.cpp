// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/ptx_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

namespace ak::emulator::test {
namespace {

// PTX of sm_100 and later has vector types and forms that older targets lack; the parser takes all.
constexpr std::string_view kHead = ".version 9.0\n.target sm_100a\n.address_size 64\n";

std::string module_around(std::string_view instructions, int parameters, std::string_view variables) {
  std::string text = fmt::format("{}{}\n.visible .entry k(", kHead, variables);
  for (int i = 0; i < parameters; ++i) text += fmt::format("{}.param .u64 p{}", i == 0 ? "" : ", ", i);
  text +=
      ")\n{\n.reg .b32 %r<100>;\n.reg .b64 %rd<100>;\n.reg .f32 %f<100>;\n.reg .f64 %fd<100>;\n"
      ".reg .b16 %rs<100>;\n.reg .pred %p<32>;\n";
  for (int i = 0; i < parameters; ++i) text += fmt::format("ld.param.u64 %rd{}, [p{}];\n", 90 + i, i);
  return text + std::string(instructions) + "\nret;\n}\n";
}

struct Loaded {
  Module module;
  const Function* entry = nullptr;
};

Loaded load(std::string_view text) {
  auto parsed = parse(text);
  if (!parsed) FAIL("PTX line " << parsed.error().line << ": " << parsed.error().message << "\n" << text);
  Loaded loaded{std::move(parsed).value(), nullptr};
  const auto found = std::find_if(loaded.module.functions.begin(), loaded.module.functions.end(),
                                  [](const Function& f) { return f.entry; });
  REQUIRE(found != loaded.module.functions.end());
  loaded.entry = &*found;
  return loaded;
}

SymbolAddresses place_globals(const Module& module, Arena& arena) {
  SymbolAddresses addresses;
  for (const Variable& variable : module.variables) {
    if (variable.space != Space::global && variable.space != Space::constant) continue;
    const auto at = arena.allocate(std::max<std::uint64_t>(variable.bytes, 1), variable.name);
    REQUIRE(at.has_value());
    std::byte* to = arena.host(*at, variable.bytes);
    std::memset(to, 0, variable.bytes);
    std::memcpy(to, variable.contents.data(), variable.contents.size());
    arena.mark_initialized(*at, variable.bytes, true);
    addresses[variable.name] = *at;
  }
  return addresses;
}

}  // namespace

PtxKernel::PtxKernel(std::string_view text, std::uint64_t arena_bytes) : arena_(arena_bytes) {
  arena_.track_initialized(true);
  const Loaded loaded = load(text);
  auto lowered = lower(loaded.module, *loaded.entry, place_globals(loaded.module, arena_));
  if (!lowered) FAIL(lowered.error().message << "\n" << text);
  program_ = std::move(lowered).value();
}

PtxKernel PtxKernel::body(std::string_view instructions, int parameters, std::string_view variables) {
  return PtxKernel(module_around(instructions, parameters, variables));
}

std::uint64_t PtxKernel::memory(std::size_t bytes, const std::string& name) {
  const auto at = arena_.allocate(bytes, name);
  REQUIRE(at.has_value());
  return *at;
}

LaunchReport PtxKernel::launch(LaunchRequest request, const std::vector<std::vector<std::byte>>& arguments) {
  REQUIRE(arguments.size() == program_.parameters.size());
  request.parameters.resize(program_.parameter_bytes);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    REQUIRE(arguments[i].size() == program_.parameters[i].bytes);
    std::memcpy(request.parameters.data() + program_.parameters[i].offset, arguments[i].data(),
                arguments[i].size());
  }
  request.launch_base = next_launch_;
  next_launch_ += std::uint64_t{request.grid[0]} * request.grid[1] * request.grid[2];
  return run_grid(program_, arena_, request);
}

void PtxKernel::expect_no_findings(const LaunchReport& report) const {
  for (const Finding& finding : report.findings.all()) FAIL_CHECK(describe(program_, finding));
}

Outcome refusal(std::string_view instructions, int parameters, std::string_view variables) {
  Arena arena(1u << 20);
  const Loaded loaded = load(module_around(instructions, parameters, variables));
  const auto lowered = lower(loaded.module, *loaded.entry, place_globals(loaded.module, arena));
  if (lowered) FAIL("this was not refused: " << instructions);
  return lowered.error();
}

}  // namespace ak::emulator::test
