// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/call_graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "emulator/lower/lowering.h"

namespace ak::emulator {
namespace {

constexpr std::string_view kProvided[] = {"vprintf", "__assertfail"};

// A chain of calls longer than this is not a program that NVRTC writes.
constexpr std::size_t kDeepestCalls = 64;

/// Bytes of the arguments and of the results.
using Signature = std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>>;

Signature signature_of(const Function& function) {
  Signature signature;
  for (const Variable& parameter : function.parameters) signature.first.push_back(parameter.bytes);
  for (const Variable& result : function.returns) signature.second.push_back(result.bytes);
  return signature;
}

std::uint64_t variable_bytes(const Function& function, const std::string& name) {
  for (const std::vector<Variable>* all : {&function.variables, &function.parameters, &function.returns}) {
    for (const Variable& variable : *all) {
      if (variable.name == name) return variable.bytes;
    }
  }
  return 0;
}

/// Of an indirect call `(results), register, (arguments), prototype`.
Signature signature_of(const Function& caller, const Instruction& call) {
  Signature signature;
  bool named = false;
  for (const Operand& operand : call.operands) {
    if (operand.kind == OperandKind::reg) named = true;
    if (operand.kind != OperandKind::list) continue;
    for (const Operand& element : operand.elements)
      (named ? signature.first : signature.second).push_back(variable_bytes(caller, element.name));
  }
  return signature;
}

class Builder {
 public:
  Builder(const Module& module, const Instruction*& current) : module_(module), current_(current) {
    for (const Function& function : module.functions) by_name_.emplace(function.name, &function);
  }

  CallGraph build(const Function& entry) {
    visit(entry, 1);
    if (heights_.at(&entry) > kDeepestCalls) Lowering::unsupported("so deep a chain of calls");
    for (const Function* function : graph_.functions) graph_.cycles.push_back(cycle_of_[function]);
    return std::move(graph_);
  }

 private:
  /// Of Tarjan, "Depth-First Search and Linear Graph Algorithms" (1972): the order in which a function was
  /// found, and the first one that it can come back to.
  struct Mark {
    std::size_t found = 0, lowest = 0;
    bool open = true;
  };

  const Function* defined(const std::string& name) const {
    const auto found = by_name_.find(name);
    const bool callable = found != by_name_.end() && !found->second->is_extern && !found->second->entry;
    return callable ? found->second : nullptr;
  }

  std::vector<const Function*> callees(const Function& function);
  const std::vector<const Function*>& with_address();
  const std::string& missing_callee(const Function& function, std::size_t depth);
  void collect_addresses(const std::vector<Variable>& variables, std::set<std::string>& names) const;
  void visit(const Function& function, std::size_t depth);
  void close_cycle(const Function& function);

  const Module& module_;
  const Instruction*& current_;
  std::unordered_map<std::string, const Function*> by_name_;
  CallGraph graph_;
  std::unordered_map<const Function*, Mark> marks_;
  std::vector<const Function*> open_;
  std::unordered_map<const Function*, std::size_t> heights_;  ///< longest chain of calls from it on
  std::unordered_map<const Function*, std::uint32_t> cycle_of_;
  std::uint32_t cycles_ = 0;
  std::optional<std::vector<const Function*>> with_address_;
  std::unordered_map<const Function*, std::string> missing_callees_;
};

void Builder::collect_addresses(const std::vector<Variable>& variables, std::set<std::string>& names) const {
  for (const Variable& variable : variables) {
    for (const Relocation& relocation : variable.relocations) names.insert(relocation.symbol);
  }
}

/// Functions of the whole module whose address is taken: another kernel may have stored it.
const std::vector<const Function*>& Builder::with_address() {
  if (with_address_) return *with_address_;
  std::set<std::string> names;
  collect_addresses(module_.variables, names);
  for (const Function& function : module_.functions) {
    collect_addresses(function.variables, names);
    for (const Instruction& instruction : function.instructions) {
      if (instruction.opcode == "call") continue;
      for (const Operand& operand : instruction.operands) {
        if (operand.kind == OperandKind::symbol) names.insert(operand.name);
      }
    }
  }
  with_address_.emplace();
  for (const Function& function : module_.functions) {
    if (names.contains(function.name) && defined(function.name) != nullptr)
      with_address_->push_back(&function);
  }
  return *with_address_;
}

/// A function that `function` calls, itself or through others, and that does not exist; "" when all do.
const std::string& Builder::missing_callee(const Function& function, std::size_t depth) {
  const auto [entry, added] = missing_callees_.try_emplace(&function);
  std::string& missing = entry->second;  // of the elements, addresses stay
  if (!added || depth > kDeepestCalls) return missing;
  for (const Instruction& instruction : function.instructions) {
    if (instruction.opcode != "call" || is_indirect_call(instruction)) continue;
    const std::string& name = callee_name(instruction);
    if (is_provided_function(name)) continue;
    const Function* next = defined(name);
    missing = next == nullptr ? name : missing_callee(*next, depth + 1);
    if (!missing.empty()) break;
  }
  return missing;
}

std::vector<const Function*> Builder::callees(const Function& function) {
  std::vector<const Function*> found;
  for (const Instruction& instruction : function.instructions) {
    if (instruction.opcode != "call") continue;
    current_ = &instruction;
    if (is_indirect_call(instruction)) {
      const Signature wanted = signature_of(function, instruction);
      for (const Function* candidate : with_address()) {
        if (signature_of(*candidate) != wanted) continue;
        if (const std::string& missing = missing_callee(*candidate, 1); missing.empty())
          found.push_back(candidate);
        else
          graph_.missing[*function_address(module_, candidate->name)] = missing;
      }
    } else if (const std::string& name = callee_name(instruction); !is_provided_function(name)) {
      const Function* next = defined(name);
      if (next == nullptr) Lowering::unsupported("a call of '" + name + "'");
      found.push_back(next);
    }
  }
  return found;
}

void Builder::visit(const Function& function, std::size_t depth) {
  const std::size_t number = marks_.size();
  marks_[&function] = {.found = number, .lowest = number, .open = true};
  open_.push_back(&function);
  graph_.functions.push_back(&function);
  if (function.instructions.empty() && !function.entry) Lowering::unsupported("an empty function");
  std::size_t below = 0;
  for (const Function* next : callees(function)) {
    if (next == &function && cycle_of_[&function] == 0) cycle_of_[&function] = ++cycles_;
    if (!marks_.contains(next)) {
      if (depth >= kDeepestCalls) Lowering::unsupported("so deep a chain of calls");
      visit(*next, depth + 1);
      marks_[&function].lowest = std::min(marks_[&function].lowest, marks_[next].lowest);
    } else if (marks_[next].open) {
      marks_[&function].lowest = std::min(marks_[&function].lowest, marks_[next].found);
    }
    below = std::max(below, heights_[next]);
  }
  heights_[&function] = below + 1;
  if (marks_[&function].lowest == marks_[&function].found) close_cycle(function);
}

/// Functions found since `function` and still open can call each other.
void Builder::close_cycle(const Function& function) {
  const bool several = open_.back() != &function;
  if (several) ++cycles_;
  for (bool more = true; more;) {
    const Function* member = open_.back();
    open_.pop_back();
    marks_[member].open = false;
    if (several) cycle_of_[member] = cycles_;
    more = member != &function;
  }
}

}  // namespace

std::optional<std::uint64_t> function_address(const Module& module, const std::string& name) {
  const auto found = std::find_if(module.functions.begin(), module.functions.end(),
                                  [&](const Function& function) { return function.name == name; });
  if (found == module.functions.end()) return std::nullopt;
  return kFunctionBase + kFunctionBytes * static_cast<std::uint64_t>(found - module.functions.begin());
}

bool is_provided_function(const std::string& name) {
  return std::find(std::begin(kProvided), std::end(kProvided), name) != std::end(kProvided);
}

bool is_indirect_call(const Instruction& instruction) {
  return instruction.opcode == "call" &&
         std::any_of(instruction.operands.begin(), instruction.operands.end(),
                     [](const Operand& operand) { return operand.kind == OperandKind::reg; });
}

bool splits_lanes(const Instruction& call) {
  return is_indirect_call(call) ||
         (call.opcode == "call" && call.guard && !is_provided_function(callee_name(call)));
}

const std::string& callee_name(const Instruction& call) {
  for (const Operand& operand : call.operands) {
    if (operand.kind == OperandKind::symbol) return operand.name;
  }
  Lowering::unsupported("a call of nothing");
}

CallGraph call_graph(const Module& module, const Function& entry, const Instruction*& current) {
  CallGraph graph = Builder(module, current).build(entry);
  current = nullptr;
  return graph;
}

}  // namespace ak::emulator
