// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/outcome.h"
#include "core/result.h"
#include "emulator/lower/program.h"
#include "emulator/machine/arena.h"
#include "emulator/parse/ast.h"
#include "runtime/cuda/device_memory.h"

namespace ak::runtime {

/// Dynamic and static shared memory of a kernel beyond this needs the opt-in attribute (CUDA C++ Programming
/// Guide, "Shared Memory").
inline constexpr std::uint32_t kSharedWithoutOptIn = 48u << 10;

/// A kernel of a loaded module: what a CUfunction points to on the CPU device.
struct EmulatedFunction {
  emulator::Program program;
  std::uint32_t max_dynamic_shared =
      kSharedWithoutOptIn;      ///< CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  bool large_clusters = false;  ///< more than 8 blocks are allowed
};

/// PTX loaded on the CPU device, its variables placed in the arena with their initial values. Frees them when
/// it ends. The arena must outlive it.
class EmulatedModule {
 public:
  /// Errors: invalid_candidate for what is not PTX, out_of_memory, unsupported.
  [[nodiscard]] static Result<std::unique_ptr<EmulatedModule>, Outcome> load(emulator::Arena& arena,
                                                                             std::string_view text);
  ~EmulatedModule();
  EmulatedModule(const EmulatedModule&) = delete;
  EmulatedModule& operator=(const EmulatedModule&) = delete;

  [[nodiscard]] bool has_kernel(const std::string& name) const;
  /// The kernel `name`, which exists; lowered on first use. Errors: unsupported, naming the instruction.
  [[nodiscard]] Result<EmulatedFunction*, Outcome> kernel(const std::string& name);
  /// Where the variable `name` of global or constant memory lies, if there is one.
  [[nodiscard]] std::optional<BufferView> variable(const std::string& name) const;

 private:
  EmulatedModule(emulator::Arena& arena, emulator::Module module)
      : arena_(arena), module_(std::move(module)) {}
  [[nodiscard]] std::vector<const emulator::Variable*> variables() const;
  [[nodiscard]] std::optional<Outcome> place(const emulator::Variable& variable);
  [[nodiscard]] std::optional<std::uint64_t> address_of(const std::string& symbol) const;
  [[nodiscard]] std::optional<std::string> initialize(const emulator::Variable& variable);

  emulator::Arena& arena_;
  emulator::Module module_;
  emulator::SymbolAddresses addresses_;
  std::map<std::string, std::unique_ptr<EmulatedFunction>> kernels_;
};

}  // namespace ak::runtime
