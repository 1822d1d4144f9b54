// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/differential/emulated_answers.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "emulator/machine/emulator.h"
#include "emulator/parse/parser.h"

namespace ak::emulator::differential {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t kArenaBytes = 8u << 20;

std::uint64_t place(Arena& arena, std::span<const std::byte> contents, std::size_t bytes,
                    const std::string& name) {
  const auto address = arena.allocate(std::max<std::size_t>(bytes, 1), name);
  AK_ASSERT(address.has_value(), "the arena is too small for a case");
  std::byte* to = arena.host(*address, bytes);
  std::memset(to, 0, bytes);
  std::copy(contents.begin(), contents.end(), to);
  arena.mark_initialized(*address, bytes, true);
  return *address;
}

SymbolAddresses place_variables(const Module& module, Arena& arena) {
  SymbolAddresses addresses;
  for (const Variable& variable : module.variables) {
    if (variable.space == Space::global || variable.space == Space::constant)
      addresses[variable.name] =
          place(arena, std::as_bytes(std::span(variable.contents)), variable.bytes, variable.name);
  }
  return addresses;
}

LaunchRequest request_for(const Case& one, const Program& program, std::uint64_t in, std::uint64_t out) {
  LaunchRequest request;
  request.grid = {one.blocks, 1, 1};
  request.block = {one.threads, 1, 1};
  request.parameters.resize(program.parameter_bytes);
  AK_ASSERT(program.parameters.size() == 2, "kernels of differential tests take two addresses");
  std::memcpy(request.parameters.data() + program.parameters[0].offset, &in, sizeof in);
  std::memcpy(request.parameters.data() + program.parameters[1].offset, &out, sizeof out);
  return request;
}

}  // namespace

Result<Bytes, Outcome> emulate(const Case& one, const std::vector<std::uint64_t>& inputs) {
  const auto module = parse(module_of({&one, 1}));
  if (!module) return Outcome{Status::invalid_candidate, StageId::build, module.error().message, {}};
  const auto entry = std::find_if(module->functions.begin(), module->functions.end(),
                                  [](const Function& f) { return f.entry; });
  AK_ASSERT(entry != module->functions.end(), "a case has a kernel");
  Arena arena(kArenaBytes);
  arena.track_initialized(true);
  const auto program = lower(*module, *entry, place_variables(*module, arena));
  if (!program) return program.error();
  const auto contents = std::as_bytes(std::span(inputs));
  const std::uint64_t in = place(arena, contents, contents.size(), "inputs");
  const std::uint64_t out = place(arena, {}, one.output_bytes(), "outputs");
  const LaunchReport report = run_grid(*program, arena, request_for(one, *program, in, out));
  if (!report.findings.empty()) return to_outcome(*program, report.findings, StageId::check);
  const std::byte* output = arena.host(out, one.output_bytes());
  return Bytes(output, output + one.output_bytes());
}

}  // namespace ak::emulator::differential
