// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emulator/lower/call_graph.h"
#include "emulator/lower/program.h"
#include "emulator/parse/ast.h"

namespace ak::emulator {

/// Where a symbol lies: an offset in its space, or a device address for global and constant memory.
struct Symbol {
  Space space = Space::global;
  std::uint64_t value = 0;
  std::uint32_t bytes = 0;
  bool in_frame = false;  ///< the offset is one in the function's frame
};
using Symbols = std::map<std::string, Symbol, std::less<>>;

/// Places of everything that a kernel and its functions name. A function that does not recurse has its local
/// variables and call parameters at a fixed place in the thread's local memory, a recursive one in its frame.
/// What it passes to others is needed during the call only and has a fixed place too.
class MemoryLayout {
 public:
  /// Sets the sizes of memory in `program`. Throws UnsupportedInstruction for a variable in a space it cannot
  /// be in.
  MemoryLayout(const Module& module, const CallGraph& calls, const SymbolAddresses& globals,
               Program& program);
  /// What `name` means inside `function`; null when it is not a variable.
  [[nodiscard]] const Symbol* find(const Function& function, const std::string& name) const;
  /// Of a recursive function's frame; 0 of others.
  [[nodiscard]] std::uint32_t frame_bytes(const Function& function) const;

 private:
  void place_shared(const Variable& variable, Program& program);
  void place_parameters(const Function& entry, Program& program);
  void place_local(const Function& function, const Variable& variable);
  void place_in_frame(const Function& function, const Variable& variable);
  void place_own(const Function& function, bool recursive, Program& program);
  void place_stack(Program& program);

  Symbols shared_and_global_;
  std::map<const Function*, Symbols> own_;
  std::uint64_t local_bytes_ = 0, shared_bytes_ = 0;
  /// Of a recursive function, in bytes: its frame, and .local variables alone.
  struct Frame {
    std::uint64_t bytes = 0, variables = 0;
  };
  std::map<const Function*, Frame> frames_;
  std::vector<std::string> dynamic_shared_;
};

}  // namespace ak::emulator
