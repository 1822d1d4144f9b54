// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/check/hostile_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "emulator/lower/call_graph.h"
#include "emulator/machine/emulator.h"
#include "emulator/machine/tensor_map_descriptor.h"
#include "emulator/parse/parser.h"

namespace ak::emulator::test {
namespace {

constexpr std::uint64_t kArenaBytes = 4u << 20, kBufferBytes = 8192;
constexpr std::uint64_t kBudget = 20'000;
// Blocks that take more are valid, and only slow.
constexpr std::uint64_t kMaxResident = 64u << 20;
constexpr std::byte kPattern{0x3C};

struct Shape {
  std::uint32_t blocks, cluster, threads;
};
constexpr Shape kShapes[] = {{2, 1, 64}, {4, 2, 32}, {1, 1, 128}, {3, 1, 33}, {4, 4, 128}, {2, 2, 96}};

/// Bits that decide something, taken one after the other.
class Choices {
 public:
  explicit Choices(std::uint64_t bits) : bits_(bits) {}
  std::uint32_t below(std::uint32_t limit) {
    const auto choice = static_cast<std::uint32_t>(bits_ % limit);
    bits_ = (bits_ / limit) * 0x9E3779B97F4A7C15ull + limit;  // never runs out
    return choice;
  }

 private:
  std::uint64_t bits_;
};

/// Device memory with the module's variables and two buffers, one of which may only be read.
class Memory {
 public:
  Memory() {
    arena_.track_initialized(true);
    input_ = *arena_.allocate(kBufferBytes, "input");
    std::memset(arena_.host(input_, kBufferBytes), static_cast<int>(kPattern), kBufferBytes);
    arena_.mark_initialized(input_, kBufferBytes, true);
    arena_.set_region(input_, kBufferBytes, "input", true);
    output_ = *arena_.allocate(kBufferBytes, "output");
  }
  /// Addresses of the module's variables; nothing when they do not fit.
  std::optional<SymbolAddresses> place(const Module& module) {
    SymbolAddresses addresses;
    const auto place_all = [&](const std::vector<Variable>& variables) {
      return std::all_of(variables.begin(), variables.end(),
                         [&](const Variable& variable) { return place(variable, addresses); });
    };
    bool fits = place_all(module.variables);
    for (const Function& function : module.functions) fits = fits && place_all(function.variables);
    if (fits) point_at_functions(module, addresses);
    return fits ? std::optional(std::move(addresses)) : std::nullopt;
  }
  [[nodiscard]] bool input_is_intact() const {
    const std::byte* bytes = arena_.host(input_, kBufferBytes);
    return std::all_of(bytes, bytes + kBufferBytes, [](std::byte b) { return b == kPattern; });
  }
  [[nodiscard]] std::uint64_t buffer(Choices& choices) const {
    return choices.below(2) == 0 ? input_ : output_;
  }
  [[nodiscard]] Arena& arena() { return arena_; }

 private:
  bool place(const Variable& variable, SymbolAddresses& addresses) {
    if (variable.space != Space::global && variable.space != Space::constant) return true;
    const auto address = arena_.allocate(std::max<std::uint64_t>(variable.bytes, 1), variable.name);
    if (!address) return false;
    const std::size_t known = std::min<std::uint64_t>(variable.contents.size(), variable.bytes);
    std::copy_n(variable.contents.begin(), known,
                reinterpret_cast<std::uint8_t*>(arena_.host(*address, known)));
    arena_.mark_initialized(*address, variable.bytes, true);
    addresses[variable.name] = *address;
    return true;
  }
  /// Tables of functions.
  void point_at_functions(const Module& module, const SymbolAddresses& addresses) {
    for (const Variable& variable : module.variables) {
      for (const Relocation& relocation : variable.relocations) {
        const auto function = function_address(module, relocation.symbol);
        const auto at = addresses.find(variable.name);
        if (!function || at == addresses.end() || relocation.at + sizeof *function > variable.bytes) continue;
        std::memcpy(arena_.host(at->second, variable.bytes) + relocation.at, &*function, sizeof *function);
      }
    }
  }
  Arena arena_{kArenaBytes};
  std::uint64_t input_ = 0, output_ = 0;
};

TensorMapDescriptor tensor_map(Choices& choices, const Memory& memory) {
  TensorMapDescriptor map;
  map.magic = TensorMapDescriptor::kMagic;
  map.address = memory.buffer(choices);
  map.rank = 1 + choices.below(5);
  for (std::size_t d = 0; d < 5; ++d) {
    map.extent[d] = choices.below(20);
    map.box[d] = static_cast<std::uint16_t>(1 + choices.below(d < 2 ? 64 : 4));
    map.element_strides[d] = static_cast<std::uint8_t>(1 + choices.below(2));
  }
  for (std::uint64_t& stride : map.stride) stride = 16 * choices.below(32);
  map.element = static_cast<TensorElement>(choices.below(13));
  map.swizzle = static_cast<TensorSwizzle>(choices.below(4));
  map.fill = static_cast<TensorFill>(choices.below(2));
  if (choices.below(4) == 0) {  // one that was overwritten
    const std::uint32_t at = 8 + choices.below(sizeof map - 8);
    reinterpret_cast<std::uint8_t*>(&map)[at] = static_cast<std::uint8_t>(choices.below(256));
  }
  return map;
}

void fill_parameters(const Program& program, const Memory& memory, Choices& choices,
                     std::vector<std::byte>& parameters) {
  parameters.resize(program.parameter_bytes);
  for (const Parameter& parameter : program.parameters) {
    std::byte* to = parameters.data() + parameter.offset;
    if (parameter.bytes >= sizeof(TensorMapDescriptor)) {
      const TensorMapDescriptor map = tensor_map(choices, memory);
      std::memcpy(to, &map, sizeof map);
    } else if (parameter.bytes == 8) {
      const std::uint64_t address = memory.buffer(choices) + 16 * choices.below(8);
      std::memcpy(to, &address, sizeof address);
    } else if (parameter.bytes > 0) {
      std::memset(to, 0, parameter.bytes);
      to[0] = static_cast<std::byte>(choices.below(80));
    }
  }
}

/// Nothing for a grid that a driver would not accept.
std::optional<LaunchRequest> request_for(const Program& program, const Memory& memory, Choices& choices) {
  const Shape shape = kShapes[choices.below(std::size(kShapes))];
  LaunchRequest request;
  request.grid = {shape.blocks, 1 + choices.below(2), 1};
  request.cluster = {shape.cluster, 1, 1};
  request.block = {std::min(shape.threads, program.maximum_threads), 1, 1};
  if (const auto& required = program.required_cluster; required[0] != 0) {
    if (std::max({required[0], required[1], required[2]}) > 4) return std::nullopt;
    request.grid = request.cluster = required;
  }
  request.dynamic_shared_bytes = 1024 * choices.below(20);
  request.cooperative = choices.below(2) == 0;
  request.options = {.check = choices.below(2) == 0,
                     .count_memory = choices.below(2) == 0,
                     .seed = choices.below(3),
                     .instruction_budget = kBudget};
  request.print = [](const std::string&) {};
  if (resident_bytes(program, request) > kMaxResident) return std::nullopt;
  fill_parameters(program, memory, choices, request.parameters);
  return request;
}

void run_kernel(const Program& program, Memory& memory, Choices& choices, HostileCounts& counts) {
  const auto request = request_for(program, memory, choices);
  if (!request) return;
  const LaunchReport report = run_grid(program, memory.arena(), *request);
  if (request->options.check)
    AK_ASSERT(memory.input_is_intact(), "checked kernels write only where they may");
  ++counts.launched;
  counts.with_findings += report.findings.empty() ? 0 : 1;
  std::uint64_t spent = 0;
  for (const OpCount& op : report.counters.ops) spent += op.warps;
  AK_ASSERT(spent <= kBudget, "a kernel ends with its budget");
  for (const Finding& finding : report.findings.all())
    AK_ASSERT(!describe(program, finding).empty(), "every fault has a description");
}

}  // namespace

void run_hostile(std::string_view text, std::uint64_t choice_bits, HostileCounts& counts) {
  ++counts.texts;
  const auto module = parse(text);
  if (!module) return;
  ++counts.parsed;
  Memory memory;
  const auto addresses = memory.place(module.value());
  if (!addresses) return;
  Choices choices(choice_bits);
  for (const Function& function : module.value().functions) {
    if (!function.entry || function.is_extern) continue;
    const auto program = lower(module.value(), function, *addresses);
    if (!program) continue;
    ++counts.lowered;
    run_kernel(program.value(), memory, choices, counts);
  }
}

}  // namespace ak::emulator::test
