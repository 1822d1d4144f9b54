// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "emulator/machine/memory_access.h"

namespace ak::emulator {
namespace {

// .shared without a qualifier is shared::cta (PTX ISA 9.0, section 5.1.7).
constexpr std::array kSpaces = {
    std::pair{std::string_view("const"), Space::constant},
    std::pair{std::string_view("global"), Space::global},
    std::pair{std::string_view("local"), Space::local},
    std::pair{std::string_view("shared"), Space::shared},
    std::pair{std::string_view("shared::cta"), Space::shared},
    std::pair{std::string_view("shared::cluster"), Space::shared_cluster},
};

/// Parameters of a kernel are a space of their own, those of functions lie in local memory.
Space parameter_space(const Lowering& lowering, const Operand& address) {
  const Space symbol = lowering.symbol_space(address);
  if (symbol == Space::param || symbol == Space::local) return symbol;
  if (symbol != Space::none) Lowering::unsupported("a .param access to something that is not a parameter");
  if (lowering.has("param::func")) return Space::local;
  return lowering.has("param::entry") || lowering.in_entry() ? Space::param : Space::local;
}

std::uint32_t semantics_of(const Lowering& lowering) {
  std::uint32_t bits = 0;
  const auto any = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(names, [&](std::string_view name) { return lowering.has(name); });
  };
  if (any({"volatile", "relaxed", "acquire", "release", "acq_rel"})) bits |= kStrong;
  if (any({"volatile"})) bits |= kVolatile;
  if (any({"acquire", "acq_rel"})) bits |= kAcquire;
  if (any({"release", "acq_rel"})) bits |= kRelease;
  // Without a scope it is .gpu (PTX ISA 9.0, description of atom).
  if (!any({"cta", "cluster"})) bits |= kGridScope;
  return bits;
}

}  // namespace

Space space_of(const Lowering& lowering, const Operand& address) {
  if (lowering.has("param") || lowering.has("param::entry") || lowering.has("param::func"))
    return parameter_space(lowering, address);
  for (const auto& [name, space] : kSpaces) {
    if (lowering.has(name)) return space;
  }
  const Space symbol = lowering.symbol_space(address);
  if (symbol != Space::none && symbol != Space::global && symbol != Space::constant)
    Lowering::unsupported("a symbol as a generic address");
  return Space::none;
}

void lower_address(Lowering& lowering, const Operand& address, Op& op) {
  const Space space = space_of(lowering, address);
  const Address where = lowering.address(address);
  op.a = where.base;
  op.immediate = where.offset;
  op.aux |= static_cast<std::uint32_t>(space) | (where.base_bits == 64 ? kWideBase : 0);
  op.aux |= semantics_of(lowering);
}

Type only_type(const Lowering& lowering) {
  const auto is_type = [](std::string_view modifier) { return parse_type(modifier).has_value(); };
  if (std::ranges::count_if(lowering.modifiers(), is_type) > 1)
    Lowering::unsupported("this combination of types");
  return lowering.type();
}

int vector_length(const Lowering& lowering) {
  return lowering.has("v2") ? 2 : lowering.has("v4") ? 4 : lowering.has("v8") ? 8 : 1;
}

void expect_operands(Lowering& lowering, std::size_t count) {
  const bool hinted = lowering.has("L2::cache_hint");
  if (lowering.operand_count() != count + (hinted ? 1 : 0)) Lowering::unsupported("this number of operands");
  if (hinted) static_cast<void>(lowering.source(lowering.operand(count), Type::b64));
}

}  // namespace ak::emulator
