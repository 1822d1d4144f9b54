// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/refusals.h"

#include <algorithm>

namespace ak::emulator {
namespace {

constexpr Refusal kRefusals[] = {
    {"tcgen05", "", "tensor memory of sm_100"},
    {"multimem", "", "memory shared by several devices (multimem)"},
    {"mma", "sp", "sparse products"},
    {"mma", "sp::ordered_metadata", "sparse products"},
    {"wgmma", "sp", "sparse products"},
    {"cp", "im2col", "im2col tensor copies"},
    {"cp", "im2col::w", "im2col tensor copies"},
    {"cp", "im2col::w::128", "im2col tensor copies"},
    {"cp", "tile::gather4", "tensor copies that gather rows"},
    {"cp", "tile::scatter4", "tensor copies that scatter rows"},
    {"cp", "im2col_no_offs", "im2col tensor copies"},
    {"st", "bulk", "a range of shared memory set at once"},
    {"cvt", "rs", "stochastic rounding"},
    {"discard", "", "memory whose contents nobody knows afterwards"},
    {"tensormap", "", "changes of a tensor map"},
    {"clusterlaunchcontrol", "", "blocks that take over others (clusterlaunchcontrol)"},
    {"alloca", "", "stack memory of a size known at run time"},
    {"stacksave", "", "stack memory of a size known at run time"},
    {"stackrestore", "", "stack memory of a size known at run time"},
    {"tex", "", "textures"},
    {"tld4", "", "textures"},
    {"txq", "", "textures"},
    {"istypep", "", "textures"},
    {"suld", "", "surfaces"},
    {"sust", "", "surfaces"},
    {"sured", "", "surfaces"},
    {"suq", "", "surfaces"},
};

}  // namespace

std::span<const Refusal> refusals() { return kRefusals; }

const Refusal* refusal_of(const Instruction& instruction) {
  const auto found = std::find_if(std::begin(kRefusals), std::end(kRefusals), [&](const Refusal& refusal) {
    return refusal.opcode == instruction.opcode &&
           (refusal.modifier.empty() || instruction.has(refusal.modifier));
  });
  return found == std::end(kRefusals) ? nullptr : &*found;
}

}  // namespace ak::emulator
