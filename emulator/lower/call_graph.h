// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emulator/parse/ast.h"

namespace ak::emulator {

/// Address of the first function of a module. Fixed, so that runs repeat; above any global memory and below the
/// windows of the generic address space, so that it is no memory.
inline constexpr std::uint64_t kFunctionBase = 0x0000'7F00'0000'0000ull;
inline constexpr std::uint64_t kFunctionBytes = 256;  ///< from one function's address to the next (chosen)

/// What a pointer to a function of the module holds: the same for all of the module's kernels. Nothing when
/// there is no function of that name.
[[nodiscard]] std::optional<std::uint64_t> function_address(const Module& module, const std::string& name);

/// Functions that CUDA's headers declare and the driver provides (CUDA C++ Programming Guide, "Formatted
/// Output" and "Assertion").
[[nodiscard]] bool is_provided_function(const std::string& name);

/// `call` with a register instead of a name.
[[nodiscard]] bool is_indirect_call(const Instruction& instruction);
/// A call that only some lanes may take, or that lanes may leave for different functions.
[[nodiscard]] bool splits_lanes(const Instruction& call);
/// The function a direct call names.
[[nodiscard]] const std::string& callee_name(const Instruction& call);

/// What a kernel can reach by calls.
struct CallGraph {
  std::vector<const Function*> functions;  ///< the kernel first
  /// By function: those that can call each other have the same number; 0: it does not recurse.
  std::vector<std::uint32_t> cycles;
  /// Functions that a pointer may name and that call what is not there: why, by the pointer's value.
  std::map<std::uint64_t, std::string> missing;
};

/// An indirect call may reach every function of its signature whose address the module takes. Throws
/// UnsupportedInstruction for a call of an unknown function and a chain of calls that is too long; `current` is
/// the call looked at then.
[[nodiscard]] CallGraph call_graph(const Module& module, const Function& entry, const Instruction*& current);

}  // namespace ak::emulator
