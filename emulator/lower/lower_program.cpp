// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "emulator/lower/control_flow.h"
#include "emulator/lower/memory_layout.h"
#include "emulator/lower/mnemonics.h"
#include "emulator/lower/program.h"
#include "emulator/lower/register_allocation.h"
#include "emulator/machine/findings.h"
#include "emulator/machine/special_registers.h"

namespace ak::emulator {
namespace {

// Functions that CUDA's headers declare and the driver provides (CUDA C++ Programming Guide, "Formatted
// Output" and "Assertion").
constexpr std::string_view kBuiltins[] = {"vprintf", "__assertfail"};

bool is_builtin(const std::string& name) {
  return std::find(std::begin(kBuiltins), std::end(kBuiltins), name) != std::end(kBuiltins);
}

/// Everything about one function that is fixed before its instructions are lowered.
struct FunctionPlan {
  const Function* function = nullptr;
  ControlFlow flow;
  Allocation registers;
  std::array<Slot, kRegisterClasses> base{};  ///< of the function's registers, by class; predicates: a number
  std::vector<bool> joins;                    ///< by block: lanes of some split meet here
  std::vector<Index> block_op;  ///< op at which a block begins; one more: the function's epilogue
  CallTarget call;
};

bool needs_two_ops(const Instruction& instruction) { return instruction.opcode == "call"; }

std::string callee_name(const Instruction& call) {
  for (const Operand& operand : call.operands) {
    if (operand.kind == OperandKind::symbol) return operand.name;
  }
  Lowering::unsupported("an indirect call");
}

/// Even a branch to the next instruction splits the lanes that take it from the others.
bool may_split(const Instruction& last) {
  return last.opcode == "brx" || (last.guard && (is_branch(last) || is_exit(last)));
}

class ProgramBuilder {
 public:
  ProgramBuilder(const Module& module, const SymbolAddresses& globals) : module_(module), globals_(globals) {}
  Result<Program, Outcome> build(const Function& entry);

 private:
  friend class FunctionLowering;
  std::size_t reach(const Function& function, std::size_t depth);
  const Function& called(const std::string& name) const;
  void plan(const Function& function);
  void lay_out_registers();
  void lay_out_code(FunctionPlan& plan);
  void describe_calls();
  void emit(FunctionPlan& plan);
  void emit(FunctionPlan& plan, const Instruction& instruction);
  void append(Op op, OpFacts facts);
  Slot special(const std::string& name);
  Slot constant(std::uint64_t bits, int lane_bytes);
  Outcome refusal(const std::string& part) const;

  const Module& module_;
  const SymbolAddresses& globals_;
  Program program_;
  std::vector<const Function*> functions_;
  std::unordered_map<std::string, const Function*> functions_by_name_;
  std::unordered_map<const Function*, std::size_t> heights_;  ///< calls below it; 0: on the way to them
  std::vector<FunctionPlan> plans_;
  std::map<std::string, CallTarget> calls_;
  std::optional<MemoryLayout> memory_;
  std::map<std::pair<std::uint64_t, int>, Slot> constants_;
  std::map<std::string, Slot> specials_;
  Slot sink_ = 0;
  Index next_op_ = 0;
  const Instruction* current_ = nullptr;
};

class FunctionLowering final : public Lowering {
 public:
  FunctionLowering(ProgramBuilder& builder, FunctionPlan& plan, const Instruction& instruction)
      : builder_(builder), plan_(plan), instruction_(instruction) {}

  const Instruction& instruction() const override { return instruction_; }
  Slot source(const Operand& operand, Type type) override;
  Slot destination(const Operand& operand, Type type) override;
  PredicateSlot predicate(const Operand& operand) override;
  PredicateSlot predicate_destination(const Operand& operand) override;
  int register_bits(const Operand& operand, Type type) const override;
  Slot constant(std::uint64_t value, int lane_bytes) override { return builder_.constant(value, lane_bytes); }
  Address address(const Operand& operand) override;
  Space symbol_space(const Operand& operand) const override;
  void more(Op& op, std::span<const Slot> slots) override;
  Index branch_target(const std::string& label) const override {
    return plan_.block_op[plan_.flow.block_at(label)];
  }
  Index reconvergence() const override;
  const CallTarget& callee(const std::string& name) const override { return builder_.calls_.at(name); }
  CallTarget::Slice local_slice(const std::string& name) const override;
  std::vector<Index> branch_table(const std::string& name) const override;
  Index epilogue() const override {
    return plan_.block_op[plan_.flow.block_of(static_cast<Index>(plan_.function->instructions.size()))];
  }
  bool in_entry() const override { return plan_.function->entry; }
  void classify(InstructionClass kind, std::uint32_t flops, Type flop_type) override {
    facts.kind = kind;
    facts.flops = flops;
    facts.flop_type = flop_type;
  }

  OpFacts facts;

 private:
  Slot register_slot(const Operand& operand, Type type) const;
  Slot immediate(const Operand& operand, Type type);
  const Symbol& symbol(const std::string& name) const;

  ProgramBuilder& builder_;
  FunctionPlan& plan_;
  const Instruction& instruction_;
};

// ---- operands

int lane_bytes(Type type) { return std::max(4, bytes(type)); }

Slot FunctionLowering::register_slot(const Operand& operand, Type type) const {
  const Register& reg = plan_.function->registers[operand.index];
  const RegisterClass which = register_class_of(reg.type);
  if (which == RegisterClass::predicate || which != register_class_of(type)) {
    unsupported(
        fmt::format("register {} of type .{} as .{}", reg.name, to_string(reg.type), to_string(type)));
  }
  const std::uint32_t row = which == RegisterClass::bytes4 ? 1 : which == RegisterClass::bytes8 ? 2 : 4;
  return plan_.base[static_cast<std::size_t>(which)] +
         plan_.registers.number[operand.index] * row * kRowBytes;
}

Slot FunctionLowering::immediate(const Operand& operand, Type type) {
  std::uint64_t value = operand.bits;
  if (operand.kind == OperandKind::real) {
    const bool is_double = operand.type == Type::f64;
    if (is_double && type == Type::f32)
      value = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
    if (bits(type) < 32 || (!is_double && bits(type) == 64)) unsupported("this floating-point immediate");
  } else if (type == Type::f32 || type == Type::f64) {
    unsupported("an integer immediate of a floating-point instruction");
  }
  if (bits(type) < 64) value &= (std::uint64_t{1} << bits(type)) - 1;
  return constant(value, lane_bytes(type));
}

Slot FunctionLowering::source(const Operand& operand, Type type) {
  switch (operand.kind) {
    case OperandKind::reg:
      if (operand.negated) unsupported("a negated register");
      return register_slot(operand, type);
    case OperandKind::integer:
    case OperandKind::real:
      return immediate(operand, type);
    case OperandKind::special: {
      const auto immediate_value = constant_special(operand.name);
      if (immediate_value) return constant(*immediate_value, lane_bytes(type));
      if (special_bits(operand.name) != 8 * lane_bytes(type)) unsupported("special register " + operand.name);
      return builder_.special(operand.name);
    }
    case OperandKind::symbol: {
      const Symbol& found = symbol(operand.name);
      if (bits(type) < 32) unsupported("the address of '" + operand.name + "' in so few bits");
      return constant(found.value + static_cast<std::uint64_t>(operand.offset), lane_bytes(type));
    }
    default:
      unsupported("this operand");
  }
}

Slot FunctionLowering::destination(const Operand& operand, Type type) {
  if (operand.kind == OperandKind::sink) return builder_.sink_;
  if (operand.kind != OperandKind::reg) unsupported("a result that is not a register");
  return register_slot(operand, type);
}

PredicateSlot FunctionLowering::predicate(const Operand& operand) {
  if (operand.kind == OperandKind::integer) return operand.bits != 0 ? kTrue : kFalse;
  if (operand.kind != OperandKind::reg || plan_.function->registers[operand.index].type != Type::pred)
    unsupported("an operand that should be a predicate");
  const auto base = plan_.base[static_cast<std::size_t>(RegisterClass::predicate)];
  return (base + plan_.registers.number[operand.index]) | (operand.negated ? kNegated : 0);
}

PredicateSlot FunctionLowering::predicate_destination(const Operand& operand) {
  if (operand.kind == OperandKind::sink) return kPredicateSink;
  if (operand.kind != OperandKind::reg) unsupported("a result that is not a predicate");
  return predicate(operand) & ~kNegated;
}

int FunctionLowering::register_bits(const Operand& operand, Type type) const {
  return operand.kind == OperandKind::reg ? bits(plan_.function->registers[operand.index].type) : bits(type);
}

const Symbol& FunctionLowering::symbol(const std::string& name) const {
  const Symbol* found = builder_.memory_->find(*plan_.function, name);
  if (found == nullptr) unsupported("the address of '" + name + "'");
  return *found;
}

Address FunctionLowering::address(const Operand& operand) {
  if (operand.kind != OperandKind::address || operand.elements.empty()) unsupported("this address");
  const Operand& base = operand.elements.front();
  switch (base.kind) {
    case OperandKind::reg: {
      const int width = register_bits(base, Type::b64) == 64 ? 64 : 32;
      return {.base = register_slot(base, width == 64 ? Type::b64 : Type::b32),
              .base_bits = width,
              .offset = operand.offset};
    }
    case OperandKind::integer:
      return {.base = constant(base.bits, 8), .base_bits = 64, .offset = operand.offset};
    case OperandKind::symbol:
      return {.base = constant(symbol(base.name).value + static_cast<std::uint64_t>(base.offset), 8),
              .base_bits = 64,
              .offset = operand.offset};
    default:
      unsupported("this address");
  }
}

Space FunctionLowering::symbol_space(const Operand& operand) const {
  const Operand& base =
      operand.kind == OperandKind::address && !operand.elements.empty() ? operand.elements.front() : operand;
  return base.kind == OperandKind::symbol ? symbol(base.name).space : Space::none;
}

void FunctionLowering::more(Op& op, std::span<const Slot> slots) {
  op.more = static_cast<std::uint32_t>(builder_.program_.slots.size());
  op.more_count = static_cast<std::uint32_t>(slots.size());
  builder_.program_.slots.insert(builder_.program_.slots.end(), slots.begin(), slots.end());
}

Index FunctionLowering::reconvergence() const {
  const auto at = static_cast<Index>(&instruction_ - plan_.function->instructions.data());
  const BasicBlock& block = plan_.flow.blocks()[plan_.flow.block_of(at)];
  return block.reconvergence == kNone ? kNone : plan_.block_op[block.reconvergence];
}

CallTarget::Slice FunctionLowering::local_slice(const std::string& name) const {
  const Symbol& found = symbol(name);
  if (found.space != Space::local) unsupported("'" + name + "' as an argument");
  return {.offset = static_cast<std::uint32_t>(found.value), .bytes = found.bytes};
}

std::vector<Index> FunctionLowering::branch_table(const std::string& name) const {
  for (const BranchTargets& table : plan_.function->branch_targets) {
    if (table.name != name) continue;
    std::vector<Index> targets;
    for (const std::string& label : table.labels) targets.push_back(branch_target(label));
    return targets;
  }
  unsupported("an indirect branch without a table of targets");
}

// ---- the program

// Depth is bounded: a chain of calls longer than this is not a program that NVRTC writes.
constexpr std::size_t kDeepestCalls = 64;

const Function& ProgramBuilder::called(const std::string& name) const {
  const auto found = functions_by_name_.find(name);
  if (found == functions_by_name_.end() || found->second->is_extern || found->second->entry)
    Lowering::unsupported("a call of '" + name + "'");
  return *found->second;
}

/// Collects what `function` calls; the length of the longest chain of calls from it on. Each function is
/// looked into once.
std::size_t ProgramBuilder::reach(const Function& function, std::size_t depth) {
  if (const auto known = heights_.find(&function); known != heights_.end()) {
    if (known->second == 0) Lowering::unsupported("a recursive function");
    return known->second;
  }
  functions_.push_back(&function);
  heights_[&function] = 0;
  std::size_t below = 0;
  for (const Instruction& instruction : function.instructions) {
    if (instruction.opcode != "call") continue;
    current_ = &instruction;
    const std::string name = callee_name(instruction);
    if (is_builtin(name)) continue;
    const Function& next = called(name);
    if (depth >= kDeepestCalls) Lowering::unsupported("so deep a chain of calls");
    below = std::max(below, reach(next, depth + 1));
    if (depth + below > kDeepestCalls) Lowering::unsupported("so deep a chain of calls");
  }
  return heights_[&function] = below + 1;
}

void ProgramBuilder::plan(const Function& function) {
  FunctionPlan plan{.function = &function,
                    .flow = ControlFlow(function),
                    .registers = {},
                    .base = {},
                    .joins = {},
                    .block_op = {},
                    .call = {}};
  plan.registers = allocate_registers(function, plan.flow);
  plan.joins.assign(plan.flow.blocks().size(), false);
  for (const BasicBlock& block : plan.flow.blocks()) {
    if (block.reconvergence != kNone && may_split(function.instructions[block.end - 1]))
      plan.joins[block.reconvergence] = true;
  }
  plans_.push_back(std::move(plan));
}

// A warp's rows: the sink, then by function and class. Functions do not recurse, so each has its own.
void ProgramBuilder::lay_out_registers() {
  constexpr std::uint32_t kSinkRows = 4;
  constexpr std::uint32_t kMaxBytes = 64u << 20;  // of a warp; a thread has 255 registers (chosen)
  program_.register_bytes = kSinkRows * kRowBytes;
  for (FunctionPlan& plan : plans_) {
    for (const RegisterClass which : {RegisterClass::bytes4, RegisterClass::bytes8, RegisterClass::bytes16}) {
      const auto i = static_cast<std::size_t>(which);
      const std::uint32_t rows = which == RegisterClass::bytes4 ? 1 : which == RegisterClass::bytes8 ? 2 : 4;
      plan.base[i] = program_.register_bytes;
      const std::uint64_t bytes = std::uint64_t{plan.registers.used[i]} * rows * kRowBytes;
      if (bytes > kMaxBytes - program_.register_bytes) Lowering::unsupported("so many registers");
      program_.register_bytes += static_cast<std::uint32_t>(bytes);
    }
    plan.base[0] = program_.predicate_count;
    program_.predicate_count += plan.registers.used[0];
  }
}

void ProgramBuilder::lay_out_code(FunctionPlan& plan) {
  plan.call.entry = next_op_;
  for (std::size_t b = 0; b < plan.flow.blocks().size(); ++b) {
    plan.block_op.push_back(next_op_);
    const BasicBlock& block = plan.flow.blocks()[b];
    next_op_ += plan.joins[b] ? 1 : 0;
    for (Index i = block.begin; i < block.end; ++i)
      next_op_ += needs_two_ops(plan.function->instructions[i]) ? 2 : 1;
  }
  plan.block_op.push_back(next_op_++);  // the epilogue
}

void ProgramBuilder::describe_calls() {
  for (FunctionPlan& plan : plans_) {
    const Function& function = *plan.function;
    if (function.entry) continue;
    const auto slice = [&](const Variable& variable) {
      if (variable.space == Space::reg) Lowering::unsupported("a function with parameters in registers");
      return CallTarget::Slice{
          .offset = static_cast<std::uint32_t>(memory_->find(function, variable.name)->value),
          .bytes = static_cast<std::uint32_t>(variable.bytes)};
    };
    for (const Variable& parameter : function.parameters) plan.call.parameters.push_back(slice(parameter));
    for (const Variable& result : function.returns) plan.call.returns.push_back(slice(result));
    calls_[function.name] = plan.call;
  }
  for (const std::string_view name : kBuiltins)
    calls_[std::string(name)] = {.entry = kNone, .builtin = true, .parameters = {}, .returns = {}};
}

Slot ProgramBuilder::special(const std::string& name) {
  const auto [entry, added] = specials_.try_emplace(name, program_.register_bytes);
  if (added) {
    const int width = special_bits(name);
    program_.specials.push_back({.name = name, .slot = entry->second, .bits = width});
    program_.register_bytes += static_cast<std::uint32_t>(width) / 32 * kRowBytes;
  }
  return entry->second;
}

Slot ProgramBuilder::constant(std::uint64_t bits, int bytes_a_lane) {
  if (bytes_a_lane == 4) bits &= 0xFFFFFFFFu;
  const auto [entry, added] = constants_.try_emplace({bits, bytes_a_lane}, 0);
  if (!added) return entry->second;
  const std::size_t at = program_.constants.size();
  entry->second = static_cast<Slot>(at) | kConstantSlot;
  const auto size = static_cast<std::size_t>(bytes_a_lane);
  program_.constants.resize(at + 32 * size);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::byte* to = program_.constants.data() + at + lane * size;
    std::memcpy(to, &bits, std::min<std::size_t>(size, 8));
  }
  return entry->second;
}

void ProgramBuilder::append(Op op, OpFacts facts) {
  program_.code.push_back(op);
  program_.facts.push_back(std::move(facts));
}

void ProgramBuilder::emit(FunctionPlan& plan, const Instruction& instruction) {
  current_ = &instruction;
  const auto& entries = mnemonics_of(instruction.opcode);
  if (entries.empty()) Lowering::unsupported("this instruction");
  FunctionLowering lowering(*this, plan, instruction);
  lowering.facts.location = instruction.location;
  lowering.facts.spelling = instruction.spelling();
  lowering.facts.ptx_line = instruction.ptx_line;
  for (const Mnemonic* entry : entries) {
    std::optional<Op> op = entry->lower(lowering);
    if (!op) continue;
    if (instruction.guard) op->guard = lowering.predicate(*instruction.guard);
    append(*op, lowering.facts);
    if (needs_two_ops(instruction)) append(finish_call(lowering), lowering.facts);
    return;
  }
  Lowering::unsupported("this combination of types");
}

void ProgramBuilder::emit(FunctionPlan& plan) {
  const OpFacts none{.kind = InstructionClass::control,
                     .flop_type = Type::f32,
                     .flops = 0,
                     .location = kNone,
                     .spelling = "",
                     .ptx_line = 0};
  for (std::size_t b = 0; b < plan.flow.blocks().size(); ++b) {
    const BasicBlock& block = plan.flow.blocks()[b];
    OpFacts join = none;
    if (block.begin < block.end) join.location = plan.function->instructions[block.begin].location;
    if (plan.joins[b]) append(join_op(), join);
    for (Index i = block.begin; i < block.end; ++i) emit(plan, plan.function->instructions[i]);
  }
  append(plan.function->entry ? exit_op() : return_op(), none);
}

Outcome ProgramBuilder::refusal(const std::string& part) const {
  Outcome outcome{.status = Status::unsupported, .stage = StageId::check, .message = {}, .diagnostics = {}};
  std::string where;
  int line = 0, column = 0;
  if (current_ != nullptr) {
    Index at = current_->location;
    while (at != kNone && at < module_.locations.size() && module_.locations[at].inlined_at != kNone)
      at = module_.locations[at].inlined_at;
    if (at != kNone && at < module_.locations.size()) {
      const SourceLocation& place = module_.locations[at];
      line = place.line;
      column = place.column;
      where = fmt::format(" (line {} of {}, PTX line {})", line,
                          place.file < module_.files.size() ? module_.files[place.file] : "the source",
                          current_->ptx_line);
    } else {
      where = fmt::format(" (PTX line {})", current_->ptx_line);
    }
  }
  const std::string what = current_ != nullptr ? "'" + current_->spelling() + "'" : "the program";
  outcome.message = fmt::format("the CPU device does not cover {}{}: {}", what, where, part);
  outcome.diagnostics.push_back(
      {.severity = "error", .message = outcome.message, .line = line, .column = column});
  return outcome;
}

std::uint32_t thread_limit(const Function& entry) {
  for (const auto& limit : {entry.required_threads, entry.maximum_threads}) {
    const std::uint64_t product = std::uint64_t{limit[0]} * std::max(1u, limit[1]) * std::max(1u, limit[2]);
    if (product != 0) return static_cast<std::uint32_t>(std::min<std::uint64_t>(product, 1024));
  }
  return 1024;
}

Result<Program, Outcome> ProgramBuilder::build(const Function& entry) {
  try {
    for (const Function& function : module_.functions) functions_by_name_.emplace(function.name, &function);
    reach(entry, 1);
    current_ = nullptr;
    memory_.emplace(module_, functions_, globals_, program_);
    for (const Function* function : functions_) {
      if (function->instructions.empty() && !function->entry) Lowering::unsupported("an empty function");
      plan(*function);
    }
    lay_out_registers();
    for (FunctionPlan& plan : plans_) lay_out_code(plan);
    describe_calls();
    for (FunctionPlan& plan : plans_) emit(plan);
  } catch (const UnsupportedInstruction& refused) {
    return refusal(refused.what());
  }
  program_.kernel = entry.name;
  program_.maximum_threads = thread_limit(entry);
  program_.required_cluster = entry.required_cluster;
  program_.files = module_.files;
  program_.locations = module_.locations;
  return std::move(program_);
}

}  // namespace

Result<Program, Outcome> lower(const Module& module, const Function& entry, const SymbolAddresses& symbols) {
  return ProgramBuilder(module, symbols).build(entry);
}

}  // namespace ak::emulator
