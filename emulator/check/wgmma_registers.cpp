// SPDX-License-Identifier: Apache-2.0
#include "emulator/check/wgmma_registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace ak::emulator {
namespace {

void report_hazard(Warp& warp, const Op& op, const std::string& what) {
  warp.launch->fault(warp, op, FaultKind::register_hazard, std::countr_zero(warp.mask), what);
}

}  // namespace

WgmmaRegisters::WgmmaRegisters(const Program& program)
    : program_(program), rows_(program.register_bytes / kRowBytes + 1) {}

void WgmmaRegisters::copy(std::span<const RegisterUse> uses) {
  Row from;
  for (const RegisterUse& use : uses) {
    for (std::uint32_t row = use.row; !use.written && row < use.row + use.rows; ++row) {
      if (rows_[row].group >= from.group) from.group = rows_[row].group, from.op = rows_[row].op;
      from.written = from.written || rows_[row].written;
    }
  }
  for (const RegisterUse& use : uses) {
    for (std::uint32_t row = use.row; use.written && row < use.row + use.rows; ++row) rows_[row] = from;
  }
}

void WgmmaRegisters::step(Warp& warp, Index op) {
  const std::span<const RegisterUse> uses = program_.register_uses.of(op);
  if (program_.register_uses.moves[op]) return copy(uses);
  for (const RegisterUse& use : uses) {
    for (std::uint32_t row = use.row; row < use.row + use.rows; ++row) {
      if (use.written) {
        rows_[row] = {.group = 0, .op = kNone, .written = true};
      } else if (rows_[row].group != 0) [[unlikely]] {
        report_hazard(warp, program_.code[op],
                      fmt::format("it reads a result of the wgmma at line {} before wgmma.wait_group",
                                  place_of(program_, rows_[row].op).line));
        rows_[row].group = 0;
      }
    }
  }
}

bool WgmmaRegisters::any_written(std::span<const Slot> slots) const {
  return std::any_of(slots.begin(), slots.end(), [&](Slot slot) {
    return (slot & kConstantSlot) == 0 && rows_[slot / kRowBytes].written;
  });
}

void WgmmaRegisters::multiply(Warp& warp, const Op& op, std::span<const Slot> accumulators, bool accumulates,
                              std::span<const Slot> a) {
  if (!ever_fenced_)
    report_hazard(warp, op, "no wgmma.fence comes before the first wgmma");
  else if (!fenced_since_wait_ && ((accumulates && any_written(accumulators)) || any_written(a)))
    report_hazard(warp, op, "its registers were written, and no wgmma.fence comes between");
  ever_fenced_ = true;  // said once
  for (const Slot slot : accumulators)
    rows_[slot / kRowBytes] = {.group = open_group_, .op = program_.index_of(op), .written = false};
}

void WgmmaRegisters::fence() {
  ever_fenced_ = fenced_since_wait_ = true;
  for (Row& row : rows_) row.written = false;
}

void WgmmaRegisters::wait(std::uint64_t groups_left) {
  fenced_since_wait_ = false;
  for (Row& row : rows_) {
    if (row.group != 0 && row.group + groups_left < open_group_) row.group = 0;
  }
}

}  // namespace ak::emulator
