// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/mnemonics.h"

#include "emulator/lower/register_allocation.h"

namespace ak::emulator {
namespace {

MnemonicTable make_table() {
  MnemonicTable table;
  for (const auto family :
       {integer_mnemonics, bit_mnemonics,     logic_mnemonics,    compare_mnemonics,   video_mnemonics,
        float_mnemonics,   special_mnemonics, half_mnemonics,     convert_mnemonics,   memory_mnemonics,
        atomic_mnemonics,  async_mnemonics,   matrix_mnemonics,   warp_mnemonics,      control_mnemonics,
        call_mnemonics,    barrier_mnemonics, mbarrier_mnemonics, bulk_copy_mnemonics, async_update_mnemonics,
        wgmma_mnemonics}) {
    for (const Mnemonic& mnemonic : family()) table[mnemonic.opcode].push_back(&mnemonic);
  }
  return table;
}

}  // namespace

const MnemonicTable& mnemonic_table() {
  static const MnemonicTable all = make_table();
  return all;
}

const std::vector<const Mnemonic*>& mnemonics_of(std::string_view opcode) {
  static const std::vector<const Mnemonic*> none;
  const auto found = mnemonic_table().find(opcode);
  return found == mnemonic_table().end() ? none : found->second;
}

// Of several families the most cautious answer holds.
OperandRoles roles_of(const Instruction& instruction) {
  const auto& entries = mnemonics_of(instruction.opcode);
  if (entries.empty()) return {.definitions = 0, .reads_definitions = true};
  OperandRoles roles{.definitions = entries.front()->definitions,
                     .reads_definitions = entries.front()->reads_definitions};
  for (const Mnemonic* entry : entries) {
    if (entry->definitions != roles.definitions || entry->reads_definitions) roles.reads_definitions = true;
    roles.definitions = std::max(roles.definitions, entry->definitions);
  }
  return roles;
}

}  // namespace ak::emulator
