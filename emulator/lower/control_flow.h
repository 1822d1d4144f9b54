// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/parse/ast.h"

namespace ak::emulator {

/// Instructions [begin, end) that are entered only at the top and left only at the bottom.
struct BasicBlock {
  Index begin = 0, end = 0;
  std::vector<Index> successors;  ///< blocks
  bool exits = false;             ///< threads end here, or, of a called function, it returns
  /// Immediate post-dominator: where the lanes of a split meet; kNone: nowhere, or only some of them would.
  Index reconvergence = kNone;
};

/// Blocks of one function in the order of the text, with immediate post-dominators. Paths that end in an
/// early exit do not count when others continue, since exited lanes need not be waited for. A called function
/// ends in an empty block to which every `ret` leads: its lanes meet there before they return.
class ControlFlow {
 public:
  /// Throws UnsupportedInstruction for a branch to an unknown label or an indirect branch without a table.
  explicit ControlFlow(const Function& function);
  [[nodiscard]] const std::vector<BasicBlock>& blocks() const { return blocks_; }
  [[nodiscard]] Index block_of(Index instruction) const { return block_of_[instruction]; }
  /// Block at a label; the number of blocks with instructions for a label at the very end.
  [[nodiscard]] Index block_at(const std::string& label) const;

 private:
  void split(const Function& function);
  void connect(const Function& function);
  void leave(const Function& function, BasicBlock& block, Index target);
  void find_reconvergence();
  struct PostDominators;
  void post_dominators_of(Index exit, PostDominators& work);

  std::vector<BasicBlock> blocks_;
  std::vector<Index> block_of_;
  std::unordered_map<std::string, Index> labels_;
};

/// Ends the running thread, or returns from a function.
[[nodiscard]] bool is_exit(const Instruction& instruction);
[[nodiscard]] bool is_return(const Function& function, const Instruction& instruction);
[[nodiscard]] bool is_branch(const Instruction& instruction);

}  // namespace ak::emulator
