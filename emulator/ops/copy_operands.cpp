// SPDX-License-Identifier: Apache-2.0
#include "emulator/ops/copy_operands.h"

#include "emulator/machine/lanes.h"
#include "emulator/numbers/element_update.h"

namespace ak::emulator {

void append_address(Lowering& lowering, const Operand& operand, std::vector<Slot>& words) {
  const Address address = lowering.address(operand);
  if (address.offset != static_cast<std::int32_t>(address.offset))
    Lowering::unsupported("an offset of this size");
  words.insert(words.end(), {address.base, static_cast<Slot>(address.base_bits),
                             static_cast<Slot>(static_cast<std::int32_t>(address.offset))});
}

std::optional<std::size_t> reduction_of(const Lowering& lowering) {
  for (std::size_t i = 0; i < std::size(kReductions); ++i) {
    if (lowering.has(kReductions[i])) return i;
  }
  return std::nullopt;
}

std::uint64_t address_at(const Warp& warp, const Op& op, std::uint32_t word, int lane) {
  const Slot* words = warp.launch->program.slots.data() + op.more + word;
  const auto offset = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(words[2])});
  if (words[1] == 64) return source<std::uint64_t>(warp, words[0])[lane] + offset;
  return (source<std::uint32_t>(warp, words[0])[lane] + offset) & 0xFFFFFFFFu;
}

std::uint32_t number_at(const Warp& warp, const Op& op, std::uint32_t word, int lane) {
  return source<std::uint32_t>(warp, warp.launch->program.slots[op.more + word])[lane];
}

}  // namespace ak::emulator
