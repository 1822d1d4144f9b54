// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "emulator/lower/address_extents.h"
#include "emulator/lower/call_graph.h"
#include "emulator/lower/control_flow.h"
#include "emulator/lower/memory_layout.h"
#include "emulator/lower/mnemonics.h"
#include "emulator/lower/program.h"
#include "emulator/lower/refusals.h"
#include "emulator/lower/register_allocation.h"
#include "emulator/lower/waiting_loops.h"
#include "emulator/machine/findings.h"
#include "emulator/machine/special_registers.h"

namespace ak::emulator {
namespace {

/// Everything about one function that is fixed before its instructions are lowered.
struct FunctionPlan {
  const Function* function = nullptr;
  ControlFlow flow;
  Allocation registers;
  std::array<Slot, kRegisterClasses> base{};  ///< of the function's registers, by class; predicates: a number
  std::vector<bool> joins;                    ///< by block: lanes of some split meet here
  std::vector<Index> block_op;  ///< op at which a block begins; one more: the function's epilogue
  Index number = 0;             ///< Program::functions
  std::vector<Extent> extents;  ///< by instruction
};

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
  void plan(const Function& function);
  void lay_out_registers();
  void lay_out_code(FunctionPlan& plan);
  void describe_calls();
  Slot frame_address(const FunctionPlan& plan, std::uint64_t offset, int lane_bytes);
  void emit(FunctionPlan& plan);
  void emit(FunctionPlan& plan, const Instruction& instruction);
  void add_waiting_loop(const FunctionPlan& plan, const InstructionRange& loop);
  void append(Op op, OpFacts facts);
  void note_registers(const FunctionPlan& plan, const Operand& operand, bool written);
  void note_registers(const FunctionPlan& plan, const Instruction& instruction);
  Slot special(const std::string& name);
  Slot constant(std::uint64_t bits, int lane_bytes);
  Outcome refusal(const std::string& part) const;

  const Module& module_;
  const SymbolAddresses& globals_;
  Program program_;
  CallGraph calls_;
  std::vector<FunctionPlan> plans_;
  std::map<std::string, Index, std::less<>> numbers_;  ///< Program::functions, by name
  std::optional<MemoryLayout> memory_;
  std::map<std::pair<std::uint64_t, int>, Slot> constants_;
  std::map<std::string, Slot> specials_;
  Slot sink_ = 0;
  Index next_op_ = 0;
  const Instruction* current_ = nullptr;
  bool multiplies_ = false;  ///< has wgmma
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
  Index callee(const std::string& name) const override { return builder_.numbers_.at(name); }
  Index caller() const override { return plan_.number; }
  const CalledFunction& function(Index which) const override { return builder_.program_.functions[which]; }
  LocalSlice local_slice(const std::string& name) const override;
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
  std::vector<FlowOperand> flow;  ///< operands as they were asked for

 private:
  void note(FlowOperand::Role role, Slot slot, int bytes) {
    flow.push_back({.slot = slot, .bytes = static_cast<std::uint8_t>(bytes), .role = role});
  }
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
  if (!operand.name.empty()) unsupported(fmt::format("part .{} of register {}", operand.name, reg.name()));
  if (which == RegisterClass::predicate || which != register_class_of(type)) {
    unsupported(
        fmt::format("register {} of type .{} as .{}", reg.name(), to_string(reg.type), to_string(type)));
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
      note(FlowOperand::Role::read, register_slot(operand, type), bytes(type));
      return flow.back().slot;
    case OperandKind::integer:
    case OperandKind::real:
      note(FlowOperand::Role::read, immediate(operand, type), bytes(type));
      return flow.back().slot;
    case OperandKind::special: {
      const auto immediate_value = constant_special(operand.name);
      if (immediate_value) return constant(*immediate_value, lane_bytes(type));
      if (special_bits(operand.name) != 8 * lane_bytes(type)) unsupported("special register " + operand.name);
      return builder_.special(operand.name);
    }
    case OperandKind::symbol: {
      if (bits(type) < 32) unsupported("the address of '" + operand.name + "' in so few bits");
      const auto offset = static_cast<std::uint64_t>(operand.offset);
      if (const auto function = function_address(builder_.module_, operand.name);
          function && bits(type) == 64)
        return constant(*function + offset, lane_bytes(type));
      const Symbol& found = symbol(operand.name);
      if (found.in_frame) return builder_.frame_address(plan_, found.value + offset, lane_bytes(type));
      return constant(found.value + offset, lane_bytes(type));
    }
    default:
      unsupported("this operand");
  }
}

Slot FunctionLowering::destination(const Operand& operand, Type type) {
  if (operand.kind == OperandKind::sink) return builder_.sink_;
  if (operand.kind != OperandKind::reg) unsupported("a result that is not a register");
  note(FlowOperand::Role::written, register_slot(operand, type), bytes(type));
  return flow.back().slot;
}

PredicateSlot FunctionLowering::predicate(const Operand& operand) {
  if (operand.kind == OperandKind::integer) return operand.bits != 0 ? kTrue : kFalse;
  if (operand.kind == OperandKind::special) refuse_special(operand.name);
  if (operand.kind != OperandKind::reg || plan_.function->registers[operand.index].type != Type::pred)
    unsupported("an operand that should be a predicate");
  const auto base = plan_.base[static_cast<std::size_t>(RegisterClass::predicate)];
  const PredicateSlot slot =
      (base + plan_.registers.number[operand.index]) | (operand.negated ? kNegated : 0);
  note(FlowOperand::Role::predicate_read, slot, 0);
  return slot;
}

PredicateSlot FunctionLowering::predicate_destination(const Operand& operand) {
  if (operand.kind == OperandKind::sink) return kPredicateSink;
  if (operand.kind != OperandKind::reg) unsupported("a result that is not a predicate");
  const PredicateSlot slot = predicate(operand) & ~kNegated;
  flow.back() = {.slot = slot, .bytes = 0, .role = FlowOperand::Role::predicate_written};
  return slot;
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
      note(FlowOperand::Role::address, register_slot(base, width == 64 ? Type::b64 : Type::b32), width / 8);
      return {.base = flow.back().slot, .base_bits = width, .offset = operand.offset};
    }
    case OperandKind::integer:
      return {.base = constant(base.bits, 8), .base_bits = 64, .offset = operand.offset};
    case OperandKind::symbol: {
      const Symbol& found = symbol(base.name);
      const std::uint64_t at = found.value + static_cast<std::uint64_t>(base.offset);
      if (found.in_frame)
        return {.base = function(plan_.number).frame,
                .base_bits = 64,
                .offset = operand.offset + static_cast<std::int64_t>(at)};
      return {.base = constant(at, 8), .base_bits = 64, .offset = operand.offset};
    }
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

LocalSlice FunctionLowering::local_slice(const std::string& name) const {
  const Symbol& found = symbol(name);
  if (found.space != Space::local || found.in_frame) unsupported("'" + name + "' as an argument");
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

void ProgramBuilder::plan(const Function& function) {
  FunctionPlan plan{.function = &function,
                    .flow = ControlFlow(function),
                    .registers = {},
                    .base = {},
                    .joins = {},
                    .block_op = {},
                    .number = static_cast<Index>(plans_.size()),
                    .extents = address_extents(function, *memory_)};
  plan.registers = allocate_registers(function, plan.flow);
  plan.joins.assign(plan.flow.blocks().size(), false);
  for (const BasicBlock& block : plan.flow.blocks()) {
    if (block.reconvergence != kNone && may_split(function.instructions[block.end - 1]))
      plan.joins[block.reconvergence] = true;
  }
  plans_.push_back(std::move(plan));
}

// A warp's rows: the sink, then by function and class; a recursive function's frame is the last of its rows.
void ProgramBuilder::lay_out_registers() {
  constexpr std::uint32_t kSinkRows = 4;
  constexpr std::uint32_t kMaxBytes = 64u << 20;  // of a warp; a thread has 255 registers (chosen)
  program_.register_bytes = kSinkRows * kRowBytes;
  bool recursive = false;
  for (FunctionPlan& plan : plans_) {
    CalledFunction& function = program_.functions[plan.number];
    function.rows = program_.register_bytes;
    for (const RegisterClass which : {RegisterClass::bytes4, RegisterClass::bytes8, RegisterClass::bytes16}) {
      const auto i = static_cast<std::size_t>(which);
      const std::uint32_t rows = which == RegisterClass::bytes4 ? 1 : which == RegisterClass::bytes8 ? 2 : 4;
      plan.base[i] = program_.register_bytes;
      const std::uint64_t bytes = std::uint64_t{plan.registers.used[i]} * rows * kRowBytes;
      if (bytes > kMaxBytes - program_.register_bytes) Lowering::unsupported("so many registers");
      program_.register_bytes += static_cast<std::uint32_t>(bytes);
      function.row_bytes[i - 1] = static_cast<std::uint32_t>(bytes);
    }
    plan.base[0] = function.predicates = program_.predicate_count;
    function.predicate_count = plan.registers.used[0];
    program_.predicate_count += plan.registers.used[0];
    if (function.cycle != 0) {
      function.frame = program_.register_bytes;
      program_.register_bytes += kWideRowBytes;
      recursive = true;
    }
  }
  if (recursive) {
    program_.stack_top = program_.register_bytes;
    program_.register_bytes += kWideRowBytes;
  }
}

void ProgramBuilder::lay_out_code(FunctionPlan& plan) {
  program_.functions[plan.number].entry = next_op_;
  for (std::size_t b = 0; b < plan.flow.blocks().size(); ++b) {
    plan.block_op.push_back(next_op_);
    const BasicBlock& block = plan.flow.blocks()[b];
    next_op_ += plan.joins[b] ? 1 : 0;
    for (Index i = block.begin; i < block.end; ++i)
      next_op_ += splits_lanes(plan.function->instructions[i]) ? 2 : 1;
  }
  plan.block_op.push_back(next_op_++);  // the epilogue
}

void ProgramBuilder::describe_calls() {
  for (std::size_t i = 0; i < calls_.functions.size(); ++i) {
    const Function& function = *calls_.functions[i];
    CalledFunction& called = program_.functions.emplace_back();
    numbers_[function.name] = static_cast<Index>(i);
    called.name = function.name;
    called.address = function_address(module_, function.name).value_or(0);
    called.cycle = calls_.cycles[i];
    called.frame_bytes = memory_->frame_bytes(function);
    if (function.entry) continue;
    const auto slice = [&](const Variable& variable) {
      if (variable.space == Space::reg) Lowering::unsupported("a function with parameters in registers");
      return LocalSlice{.offset = static_cast<std::uint32_t>(memory_->find(function, variable.name)->value),
                        .bytes = static_cast<std::uint32_t>(variable.bytes)};
    };
    for (const Variable& parameter : function.parameters) called.parameters.push_back(slice(parameter));
    for (const Variable& result : function.returns) called.returns.push_back(slice(result));
  }
}

/// A row with the address `offset` bytes into the function's frame, which a call fills.
Slot ProgramBuilder::frame_address(const FunctionPlan& plan, std::uint64_t offset, int bytes_a_lane) {
  std::vector<FrameAddress>& rows = program_.functions[plan.number].addresses;
  const bool wide = bytes_a_lane == 8;
  for (const FrameAddress& row : rows) {
    if (row.offset == offset && row.wide == wide) return row.slot;
  }
  rows.push_back(
      {.slot = program_.register_bytes, .offset = static_cast<std::uint32_t>(offset), .wide = wide});
  program_.register_bytes += wide ? kWideRowBytes : kRowBytes;
  return rows.back().slot;
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
  program_.extents.emplace_back();
  program_.flows.emplace_back();
  RegisterUses& known = program_.register_uses;
  if (!multiplies_) return;
  known.end.push_back(static_cast<std::uint32_t>(known.uses.size()));
  known.moves.push_back(program_.facts.back().spelling.starts_with("mov."));
}

void ProgramBuilder::note_registers(const FunctionPlan& plan, const Operand& operand, bool written) {
  for (const Operand& element : operand.elements) note_registers(plan, element, written);
  if (operand.kind != OperandKind::reg) return;
  const RegisterClass which = register_class_of(plan.function->registers[operand.index].type);
  if (which == RegisterClass::predicate) return;
  const std::uint32_t rows = which == RegisterClass::bytes4 ? 1 : which == RegisterClass::bytes8 ? 2 : 4;
  const Slot base = plan.base[static_cast<std::size_t>(which)];
  program_.register_uses.uses.push_back(
      {.row = base / kRowBytes + plan.registers.number[operand.index] * rows,
       .rows = static_cast<std::uint8_t>(rows),
       .written = written});
}

/// Reads before writes, as an op does them.
void ProgramBuilder::note_registers(const FunctionPlan& plan, const Instruction& instruction) {
  if (!multiplies_ || instruction.opcode == "wgmma") return;  // wgmma_ops.cpp follows its own
  const auto definitions = static_cast<std::size_t>(roles_of(instruction).definitions);
  for (const bool writes : {false, true}) {
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      const bool written = i < definitions && operand.kind != OperandKind::address;
      if (written == writes) note_registers(plan, operand, written);
    }
  }
}

void ProgramBuilder::emit(FunctionPlan& plan, const Instruction& instruction) {
  current_ = &instruction;
  if (const Refusal* refused = refusal_of(instruction)) Lowering::unsupported(std::string(refused->what));
  const auto& entries = mnemonics_of(instruction.opcode);
  if (entries.empty()) Lowering::unsupported("this instruction");
  FunctionLowering lowering(*this, plan, instruction);
  lowering.facts.location = instruction.location;
  lowering.facts.spelling = instruction.spelling();
  lowering.facts.ptx_line = instruction.ptx_line;
  for (const Mnemonic* entry : entries) {
    lowering.flow.clear();
    std::optional<Op> op = entry->lower(lowering);
    if (!op) continue;
    const std::vector<FlowOperand> flow = std::move(lowering.flow);
    if (instruction.guard) op->guard = lowering.predicate(*instruction.guard);
    note_registers(plan, instruction);
    append(*op, lowering.facts);
    program_.flows.back() = {.kind = flow_of(instruction),
                             .first = static_cast<std::uint32_t>(program_.flow_operands.size()),
                             .count = static_cast<std::uint32_t>(flow.size())};
    program_.flow_operands.insert(program_.flow_operands.end(), flow.begin(), flow.end());
    program_.extents.back() =
        plan.extents[static_cast<std::size_t>(&instruction - plan.function->instructions.data())];
    if (splits_lanes(instruction)) append(join_op(), lowering.facts);
    return;
  }
  Lowering::unsupported("this combination of types");
}

/// The loop whose branch back is the op just appended.
void ProgramBuilder::add_waiting_loop(const FunctionPlan& plan, const InstructionRange& loop) {
  const auto last = static_cast<Index>(program_.code.size() - 1);
  count_rounds(program_.code[last], static_cast<Index>(program_.waiting_loops.size()));
  program_.waiting_loops.push_back({.first = plan.block_op[plan.flow.block_of(loop.first)], .last = last});
}

void ProgramBuilder::emit(FunctionPlan& plan) {
  const OpFacts none{.kind = InstructionClass::control,
                     .flop_type = Type::f32,
                     .flops = 0,
                     .location = kNone,
                     .spelling = "",
                     .ptx_line = 0};
  const std::vector<InstructionRange> loops = waiting_loops(*plan.function);
  std::size_t next = 0;  // loops come in the order of their branches back
  for (std::size_t b = 0; b < plan.flow.blocks().size(); ++b) {
    const BasicBlock& block = plan.flow.blocks()[b];
    OpFacts join = none;
    if (block.begin < block.end) join.location = plan.function->instructions[block.begin].location;
    if (plan.joins[b]) append(join_op(), join);
    for (Index i = block.begin; i < block.end; ++i) {
      emit(plan, plan.function->instructions[i]);
      if (next < loops.size() && loops[next].last == i) add_waiting_loop(plan, loops[next++]);
    }
  }
  append(plan.function->entry ? exit_op() : return_op(plan.number), none);
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

bool has_wgmma(const Function* function) {
  const auto& all = function->instructions;
  return std::any_of(all.begin(), all.end(), [](const Instruction& i) { return i.opcode == "wgmma"; });
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
    calls_ = call_graph(module_, entry, current_);
    multiplies_ = std::any_of(calls_.functions.begin(), calls_.functions.end(), has_wgmma);
    memory_.emplace(module_, calls_, globals_, program_);
    for (const Function* function : calls_.functions) plan(*function);
    describe_calls();
    lay_out_registers();
    for (FunctionPlan& plan : plans_) lay_out_code(plan);
    for (FunctionPlan& plan : plans_) emit(plan);
  } catch (const UnsupportedInstruction& refused) {
    return refusal(refused.what());
  }
  program_.missing = calls_.missing;
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
