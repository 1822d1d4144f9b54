// SPDX-License-Identifier: Apache-2.0
// wgmma: multiplications by the four warps of a warpgroup, with matrices in shared memory. Each warp computes
// its own 16 rows, so that warps need not meet.
//
// A multiplication is done when it is issued, the earliest moment the ISA allows: doing it at the wait would
// be wrong, because compilers move accumulators between registers before the wait. What a missing wgmma.fence
// or wgmma.wait_group would break on a GPU does not change results here; the checker finds it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/check/async_checker.h"
#include "emulator/check/wgmma_registers.h"
#include "emulator/machine/memory_access.h"
#include "emulator/machine/warp_sync.h"
#include "emulator/matrices/matrix_form.h"
#include "emulator/ops/wgmma_descriptor.h"

namespace ak::emulator {
namespace {

constexpr int kWarpRows = 16, kWarpsOfGroup = 4, kMaxN = 256, kMaxK = 32;
constexpr int kBytesOfK = 32;  ///< of every instruction
constexpr int kChunk = 16;     ///< bytes that stay together in any layout

// Op::a and Op::c: descriptors of A and B. Op::d: predicate of scale-d. Op::more: slots of D, then of A if
// in registers. Op::b:
enum : std::uint32_t { kRegistersA = 1, kMinus = 2, kAcrossA = 4, kAcrossB = 8 };

/// Bytes of `lines` rows of A or columns of B from line `first` on. Lines are adjacent along k, or, `across`,
/// the elements of one k are.
struct SharedMatrix {
  MatrixDescriptor descriptor;
  int first = 0, lines = 0, k = 0;
  bool across = false;
};

void read_shared(Warp& warp, const Op& op, const SharedMatrix& matrix, std::byte* to) {
  const int per_run = matrix.across ? matrix.lines * kBytesOfK / matrix.k / kChunk : kBytesOfK / kChunk;
  const int chunks = matrix.lines * kBytesOfK / kChunk;
  const int skipped = matrix.across ? matrix.first * kBytesOfK / matrix.k / kChunk : 0;
  const std::uint32_t executing = warp.mask;
  std::vector<Chunk> read;
  read.reserve(static_cast<std::size_t>(chunks));
  for (int start = 0; start < chunks; start += kLanes) {
    Access access;
    const int count = std::min(kLanes, chunks - start);
    for (int i = 0; i < count; ++i) {
      const auto run = static_cast<std::uint32_t>((start + i) / per_run);
      const auto chunk = static_cast<std::uint32_t>((start + i) % per_run + skipped);
      access.addresses[i] =
          matrix.across
              ? chunk_across_k(matrix.descriptor, run, chunk)
              : chunk_along_k(matrix.descriptor, run + static_cast<std::uint32_t>(matrix.first), chunk);
    }
    warp.mask = kAllLanes >> (kLanes - count);
    resolve(warp, op, Space::shared,
            {.bytes = kChunk, .kind = AccessKind::async_read, .purpose = Purpose::load}, access);
    warp.mask = executing;
    for (int i = 0; i < count; ++i) {
      if ((access.mask >> i & 1u) != 0)
        read.push_back(
            static_cast<Chunk>(static_cast<std::uint32_t>(access.at(i) - warp.block->shared) / kChunkBytes));
      std::byte* place = to + (start + i) * kChunk;
      if ((access.mask >> i & 1u) != 0)
        std::memcpy(place, access.at(i), kChunk);
      else
        std::memset(place, 0, kChunk);
    }
  }
  if (warp.launch->checker != nullptr)
    warp.launch->checker->async().begin_read(warp, op, AsyncReader::kWholeWarp, read);
}

/// What the checker knows of the warp's registers; null: it is off.
WgmmaRegisters* registers_of(Warp& warp) {
  if (warp.launch->checker == nullptr) return nullptr;
  if (warp.wgmma == nullptr) {
    warp.wgmma = std::make_shared<WgmmaRegisters>(warp.launch->program);
    warp.leave = true;  // every op from here on is watched
  }
  return warp.wgmma.get();
}

/// Numbers of a matrix in shared memory: as lines x k, or with `lines_last` as k x lines.
template <class T>
void read_numbers(Warp& warp, const Op& op, const SharedMatrix& matrix, Decoder<T> decode, bool lines_last,
                  T* to) {
  alignas(64) std::byte bytes[kMaxN * kBytesOfK];
  read_shared(warp, op, matrix, bytes);
  const int count = matrix.lines * matrix.k;
  if (matrix.across == lines_last) return decode(bytes, count, to);
  alignas(64) T numbers[kMaxN * kMaxK];
  decode(bytes, count, numbers);
  const int rows = matrix.across ? matrix.k : matrix.lines, columns = count / rows;
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) to[j * rows + i] = numbers[i * columns + j];
  }
}

bool valid(Warp& warp, const Op& op, const MatrixDescriptor& descriptor) {
  if (descriptor.base_offset == 0) return true;
  warp.launch->fault(warp, op, FaultKind::invalid_operand, 0,
                     "a matrix descriptor with a base offset, which the CPU device does not cover");
  warp.launch->stop = true;
  return false;
}

bool whole_warpgroup(Warp& warp, const Op& op) {
  const std::size_t last = warp.index / kWarpsOfGroup * kWarpsOfGroup + kWarpsOfGroup - 1;
  if (last < warp.block->warps.size()) return true;
  warp.launch->fault(warp, op, FaultKind::invalid_operand, 0,
                     "the block has no four warps for this warpgroup");
  warp.launch->stop = true;
  return false;
}

template <class T>
void negate(T* values, int count) {
  for (int i = 0; i < count; ++i) values[i] = -values[i];
}

void accumulate(const double* a, const double* b, double* sums, int n, int k, bool) {
  multiply_add(a, b, sums, kWarpRows, n, k);
}
void accumulate(const std::int32_t* a, const std::int32_t* b, std::int32_t* sums, int n, int k,
                bool saturate) {
  if (!saturate) return multiply_add(a, b, sums, kWarpRows, n, k);
  alignas(64) std::int32_t products[kWarpRows * kMaxN];
  std::fill_n(products, kWarpRows * n, 0);
  multiply_add(a, b, products, kWarpRows, n, k);
  add_saturating(products, sums, kWarpRows * n);
}

/// T: double or std::int32_t.
template <class T, Decoder<T> (*kDecoder)(Type)>
void mma_async(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes) || !whole_warpgroup(warp, op)) return;
  const MatrixForm form = matrix_form(op);
  const AccumulatorForm accumulator = accumulator_form(op);
  const FragmentLayout layout = accumulator_layout(form.shape, accumulator.d);
  const Slot* slots = warp.launch->program.slots.data() + op.more;
  const int n = form.shape.n, k = form.shape.k, lane = std::countr_zero(warp.mask);

  alignas(64) T a[kWarpRows * kMaxK];
  if ((op.b & kRegistersA) != 0) {
    read_rows(warp, slots + layout.registers(), layout_of_a(form), kDecoder(form.a), a);
  } else {
    const MatrixDescriptor descriptor = decode_descriptor(source<std::uint64_t>(warp, op.a)[lane]);
    if (!valid(warp, op, descriptor)) return;
    const int first = static_cast<int>(warp.index % kWarpsOfGroup) * kWarpRows;
    read_numbers(warp, op, {descriptor, first, kWarpRows, k, (op.b & kAcrossA) != 0}, kDecoder(form.a), false,
                 a);
  }
  if ((op.b & kMinus) != 0) negate(a, kWarpRows * k);

  const MatrixDescriptor descriptor = decode_descriptor(source<std::uint64_t>(warp, op.c)[lane]);
  if (!valid(warp, op, descriptor)) return;
  alignas(64) T b[kMaxN * kMaxK];
  read_numbers(warp, op, {descriptor, 0, n, k, (op.b & kAcrossB) != 0}, kDecoder(form.b), true, b);

  const bool accumulates = (predicate(warp, op.d) >> lane & 1u) != 0;
  if (WgmmaRegisters* const registers = registers_of(warp)) {
    const std::span<const Slot> all(slots, op.more_count);
    const auto count = static_cast<std::size_t>(layout.registers());
    registers->multiply(warp, op, all.first(count), accumulates, all.subspan(count));
  }
  alignas(64) T sums[kWarpRows * kMaxN];
  if (accumulates)
    read_accumulators(warp, slots, layout, sums);
  else
    std::fill_n(sums, kWarpRows * n, T{0});
  accumulate(a, b, sums, n, k, accumulator.saturate);
  write_accumulators(warp, slots, layout, sums);
}

void fence(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  if (WgmmaRegisters* const registers = registers_of(warp)) registers->fence();
}
void commit_group(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  WgmmaRegisters* const registers = registers_of(warp);
  if (registers == nullptr) return;
  registers->commit();
  warp.launch->checker->async().commit(warp, AsyncReader::kWholeWarp);
}
// immediate: groups that may be left.
void wait_group(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  WgmmaRegisters* const registers = registers_of(warp);
  if (registers == nullptr) return;
  const auto left = static_cast<std::uint64_t>(op.immediate);
  registers->wait(left);
  warp.launch->checker->async().wait(warp, AsyncReader::kWholeWarp, left);
}

// ---- lowering (PTX ISA 9.0, 9.7.15.5.2 "wgmma.mma_async")

struct Family {
  Type elements[2];      ///< of A and B; either for each
  Type accumulators[2];  ///< either
  int k;
  bool scales, transposes;  ///< has imm-scale-a and -b, imm-trans-a and -b
};
constexpr Family kFamilies[] = {
    {{Type::f16, Type::f16}, {Type::f16, Type::f32}, 16, true, true},
    {{Type::bf16, Type::bf16}, {Type::f32, Type::f32}, 16, true, true},
    {{Type::tf32, Type::tf32}, {Type::f32, Type::f32}, 8, true, false},
    {{Type::e4m3, Type::e5m2}, {Type::f16, Type::f32}, 32, true, false},
    {{Type::s8, Type::u8}, {Type::s32, Type::s32}, 32, false, false},
};

bool among(const Type (&types)[2], Type type) { return types[0] == type || types[1] == type; }

const Family& family_of(const MatrixForm& form, Type accumulator) {
  for (const Family& family : kFamilies) {
    if (among(family.elements, form.a) && among(family.elements, form.b) &&
        among(family.accumulators, accumulator))
      return family;
  }
  Lowering::unsupported(
      fmt::format("the types {} x {} = {}", to_string(form.a), to_string(form.b), to_string(accumulator)));
}

/// An immediate among the last operands: one of two values; true for the second.
bool choice(const Lowering& lowering, std::size_t i, std::int64_t no, std::int64_t yes) {
  const Operand& operand = lowering.operand(i);
  const auto value = static_cast<std::int64_t>(operand.bits);
  if (operand.kind != OperandKind::integer || (value != no && value != yes))
    Lowering::unsupported(fmt::format("operand {}", i + 1));
  return value == yes;
}

/// Op::b from the immediates behind scale-d.
std::uint32_t options_of(const Lowering& lowering, const Family& family, bool registers) {
  const std::size_t count = 4 + (family.scales ? 2 : 0) + (family.transposes ? registers ? 1 : 2 : 0);
  if (lowering.operand_count() != count) Lowering::unsupported("this number of operands");
  std::uint32_t options = 0;
  if (registers) options |= kRegistersA;
  if (family.scales && choice(lowering, 4, 1, -1) != choice(lowering, 5, 1, -1)) options |= kMinus;
  if (!family.transposes) return options;
  if (!registers && choice(lowering, 6, 0, 1)) options |= kAcrossA;
  if (choice(lowering, count - 1, 0, 1)) options |= kAcrossB;
  return options;
}

Op lower_mma_async(Lowering& lowering) {
  const NamedShape named = shape_of(lowering);
  lowering.accept_modifiers({"mma_async", "sync", "aligned", named.name, "satfinite"});
  const MatrixForm form{{kWarpRows, named.shape.n, named.shape.k}, lowering.type(1), lowering.type(0)};
  const Type type = lowering.type(2);
  const Family& family = family_of(form, type);
  const int n = form.shape.n;
  if (named.shape.m != kWarpRows * kWarpsOfGroup || n == 0 || n % 8 != 0 || n > kMaxN ||
      form.shape.k != family.k)
    Lowering::unsupported(fmt::format("shape .{} of these types", named.name));
  const bool integers = type == Type::s32;
  if (lowering.has("satfinite") && !integers) Lowering::unsupported("modifier .satfinite");

  const Operand& a = lowering.operand(1);
  const bool registers = a.kind == OperandKind::list;
  const AccumulatorForm accumulator{.d = type, .c = type, .saturate = lowering.has("satfinite")};
  Op op{.run = integers ? mma_async<std::int32_t, integer_decoder> : mma_async<double, float_decoder>,
        .d = lowering.predicate(lowering.operand(3)),
        .a = registers ? 0 : lowering.source(a, Type::b64),
        .b = options_of(lowering, family, registers),
        .c = lowering.source(lowering.operand(2), Type::b64),
        .immediate = std::bit_cast<std::int64_t>(form),
        .aux = std::bit_cast<std::uint32_t>(accumulator)};
  std::vector<Slot> slots =
      fragment_destinations(lowering, lowering.operand(0), accumulator_layout(form.shape, type));
  if (registers) {
    const std::vector<Slot> more = fragment_sources(lowering, a, layout_of_a(form));
    slots.insert(slots.end(), more.begin(), more.end());
  }
  lowering.more(op, slots);
  const std::uint32_t products = std::uint32_t{form.shape.m} * form.shape.n * form.shape.k;
  lowering.classify(InstructionClass::tensor, 2 * products / kLanes, form.a);
  return op;
}

std::optional<Op> lower_wgmma(Lowering& lowering) {
  if (lowering.has("mma_async")) return lower_mma_async(lowering);
  lowering.accept_modifiers({"fence", "commit_group", "wait_group", "sync", "aligned"});
  lowering.classify(InstructionClass::barrier);
  if (lowering.has("fence")) return Op{.run = fence};
  if (lowering.has("commit_group")) return Op{.run = commit_group};
  return Op{.run = wait_group, .immediate = static_cast<std::int64_t>(lowering.operand(0).bits)};
}

}  // namespace

std::span<const Mnemonic> wgmma_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"wgmma", lower_wgmma, 1, true}};
  return kMnemonics;
}

}  // namespace ak::emulator
