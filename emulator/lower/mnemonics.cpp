// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/mnemonics.h"

#include <unordered_map>

#include "emulator/lower/register_allocation.h"

namespace ak::emulator {
namespace {

using Table = std::unordered_map<std::string_view, std::vector<const Mnemonic*>>;

Table make_table() {
  Table table;
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

const Table& table() {
  static const Table all = make_table();
  return all;
}

}  // namespace

const std::vector<const Mnemonic*>& mnemonics_of(std::string_view opcode) {
  static const std::vector<const Mnemonic*> none;
  const auto found = table().find(opcode);
  return found == table().end() ? none : found->second;
}

std::set<std::string_view> covered_opcodes() {
  std::set<std::string_view> opcodes;
  for (const auto& [opcode, entries] : table()) opcodes.insert(opcode);
  return opcodes;
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
