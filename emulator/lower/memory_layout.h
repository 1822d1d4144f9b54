// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emulator/lower/program.h"
#include "emulator/parse/ast.h"

namespace ak::emulator {

/// Where a symbol lies: an offset in its space, or a device address for global and constant memory.
struct Symbol {
  Space space = Space::global;
  std::uint64_t value = 0;
  std::uint32_t bytes = 0;
};
using Symbols = std::map<std::string, Symbol, std::less<>>;

/// Places of everything that a kernel and its functions name. Functions do not recurse, so each has its local
/// variables and call parameters at a fixed place in the thread's local memory.
class MemoryLayout {
 public:
  /// @param functions the entry first, then what it can reach. Throws UnsupportedInstruction for a variable
  /// in a space it cannot be in.
  MemoryLayout(const Module& module, const std::vector<const Function*>& functions,
               const SymbolAddresses& globals, Program& program);
  /// What `name` means inside `function`; null when it is not a variable.
  [[nodiscard]] const Symbol* find(const Function& function, const std::string& name) const;

 private:
  void place_shared(const Variable& variable, Program& program);
  void place_parameters(const Function& entry, Program& program);
  void place_local(const Function& function, const Variable& variable);

  Symbols shared_and_global_;
  std::map<const Function*, Symbols> own_;
  std::uint64_t local_bytes_ = 0, shared_bytes_ = 0;
  std::vector<std::string> dynamic_shared_;
};

}  // namespace ak::emulator
