// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/control_flow.h"

#include <algorithm>

#include "emulator/lower/lowering.h"

namespace ak::emulator {
namespace {

const std::vector<std::string>& table_of(const Function& function, const std::string& name) {
  for (const BranchTargets& table : function.branch_targets) {
    if (table.name == name) return table.labels;
  }
  Lowering::unsupported("an indirect branch without a table of targets");
}

std::vector<std::string> targets_of(const Function& function, const Instruction& branch) {
  if (branch.operands.size() != (branch.opcode == "brx" ? 2u : 1u))
    Lowering::unsupported("this number of operands");
  const Operand& last = branch.operands.back();
  if (branch.opcode == "brx") return table_of(function, last.name);
  return {last.name};
}

}  // namespace

/// What find_reconvergence() keeps from one exit to the next.
struct ControlFlow::PostDominators {
  explicit PostDominators(const std::vector<BasicBlock>& blocks)
      : predecessors(blocks.size()),
        seen(blocks.size(), false),
        rank(blocks.size(), kNone),
        dominator(blocks.size(), kNone) {
    for (Index b = 0; b < blocks.size(); ++b) {
      for (const Index next : blocks[b].successors) predecessors[next].push_back(b);
    }
  }
  std::vector<std::vector<Index>> predecessors;
  std::vector<bool> seen;              ///< by this exit or one before
  std::vector<Index> rank, dominator;  ///< of this exit's blocks; kNone: it is none of them
};

namespace {

/// Blocks that can reach `exit` without passing one that was seen before, last ones first.
std::vector<Index> reverse_order(const std::vector<std::vector<Index>>& predecessors, Index exit,
                                 std::vector<bool>& seen) {
  // Post-order of the reversed graph, iteratively: hostile code may have very many blocks.
  std::vector<Index> order;
  std::vector<std::pair<Index, std::size_t>> stack{{exit, 0}};
  seen[exit] = true;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    if (next == predecessors[block].size()) {
      order.push_back(block);
      stack.pop_back();
      continue;
    }
    const Index before = predecessors[block][next++];
    if (seen[before]) continue;
    seen[before] = true;
    stack.emplace_back(before, 0);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

bool is_exit(const Instruction& instruction) {
  return instruction.opcode == "ret" || instruction.opcode == "exit" || instruction.opcode == "trap";
}
bool is_return(const Function& function, const Instruction& instruction) {
  return !function.entry && instruction.opcode == "ret";
}
bool is_branch(const Instruction& instruction) {
  return instruction.opcode == "bra" || instruction.opcode == "brx";
}

ControlFlow::ControlFlow(const Function& function) {
  split(function);
  connect(function);
  find_reconvergence();
}

void ControlFlow::split(const Function& function) {
  const auto count = static_cast<Index>(function.instructions.size());
  std::vector<bool> starts(count + 1, false);
  starts[0] = true;
  for (const Label& label : function.labels) starts[label.instruction] = true;
  for (Index i = 0; i < count; ++i) {
    if (is_branch(function.instructions[i]) || is_exit(function.instructions[i])) starts[i + 1] = true;
  }
  for (Index i = 0; i < count; ++i) {
    if (starts[i])
      blocks_.push_back({.begin = i, .end = i, .successors = {}, .exits = false, .reconvergence = kNone});
    block_of_.push_back(static_cast<Index>(blocks_.size() - 1));
    blocks_.back().end = i + 1;
  }
  block_of_.push_back(static_cast<Index>(blocks_.size()));
  for (const Label& label : function.labels) labels_[label.name] = block_of_[label.instruction];
}

Index ControlFlow::block_at(const std::string& label) const {
  const auto found = labels_.find(label);
  if (found == labels_.end()) Lowering::unsupported("a branch to '" + label + "', which is not a label here");
  return found->second;
}

void ControlFlow::connect(const Function& function) {
  const auto count = static_cast<Index>(blocks_.size());
  const auto end = static_cast<Index>(function.instructions.size());
  for (Index b = 0; b < count; ++b) {
    BasicBlock& block = blocks_[b];
    const Instruction& last = function.instructions[block.end - 1];
    const bool always = !last.guard && (is_branch(last) || is_exit(last));
    if (!always) leave(function, block, b + 1);
    if (is_return(function, last))
      leave(function, block, count);
    else if (is_exit(last))
      block.exits = block.exits || !last.guard;
    if (!is_branch(last)) continue;
    for (const std::string& label : targets_of(function, last)) leave(function, block, block_at(label));
  }
  if (!function.entry)
    blocks_.push_back({.begin = end, .end = end, .successors = {}, .exits = true, .reconvergence = kNone});
}

/// Adds a way out of `block`; beyond the last one a kernel's thread ends.
void ControlFlow::leave(const Function& function, BasicBlock& block, Index target) {
  if (function.entry && target == block_of_.back())
    block.exits = true;
  else if (std::find(block.successors.begin(), block.successors.end(), target) == block.successors.end())
    block.successors.push_back(target);
}

// One exit after the other, last in the text first: what can reach a later exit is judged by that one alone.
void ControlFlow::find_reconvergence() {
  constexpr std::size_t kMaxBlocks = 1u << 16;  // finding where lanes meet may take time quadratic in them
  if (blocks_.size() > kMaxBlocks) Lowering::unsupported("so many branches");
  PostDominators work(blocks_);
  for (Index b = static_cast<Index>(blocks_.size()); b-- > 0;) {
    if (blocks_[b].exits && !work.seen[b]) post_dominators_of(b, work);
  }
}

// Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph.
void ControlFlow::post_dominators_of(Index exit, PostDominators& work) {
  const std::vector<Index> order = reverse_order(work.predecessors, exit, work.seen);
  std::vector<Index>&rank = work.rank, &dominator = work.dominator;
  for (Index i = 0; i < order.size(); ++i) rank[order[i]] = i;
  dominator[exit] = exit;
  const auto meet = [&](Index a, Index b) {
    while (a != b) {
      while (rank[a] > rank[b]) a = dominator[a];
      while (rank[b] > rank[a]) b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Index block : order) {
      if (block == exit) continue;
      Index common = kNone;
      for (const Index next : blocks_[block].successors) {
        if (rank[next] == kNone || dominator[next] == kNone) continue;
        common = common == kNone ? next : meet(common, next);
      }
      if (common == dominator[block]) continue;
      dominator[block] = common;
      changed = true;
    }
  }
  for (const Index block : order) {
    // Lanes that all take one way, while the others exit, have no one to meet: waiting for those to exit
    // could take forever, since what they do until then may need the lanes that wait.
    const auto& successors = blocks_[block].successors;
    const auto ways =
        std::count_if(successors.begin(), successors.end(), [&](Index next) { return rank[next] != kNone; });
    if (block != exit && (ways > 1 || successors.size() == 1))
      blocks_[block].reconvergence = dominator[block];
  }
  for (const Index block : order) rank[block] = dominator[block] = kNone;
}

}  // namespace ak::emulator
