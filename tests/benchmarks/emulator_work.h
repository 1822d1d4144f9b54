// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plan/launch_plan.h"
#include "emulator/machine/emulator.h"
#include "runtime/build/compile.h"
#include "runtime/emulated/emulated_module.h"

namespace ak::benchmark {

/// What one execution of a Work did and took.
struct Sample {
  double time_ns = 0;                     ///< of the thread that ran it, on its core
  std::uint64_t thread_instructions = 0;  ///< lanes that executed an instruction, summed
  std::uint64_t warp_instructions = 0;
  std::uint64_t tensor_fmas = 0;
};

/// Buffers by the names a plan gives them.
struct Buffer {
  std::uint64_t address = 0, bytes = 0;
  bool zeroed = false;  ///< before every execution
};
using Buffers = std::map<std::string, Buffer, std::less<>>;

/// Kernels loaded on the CPU device with the launches and the memory that they work on. Throws
/// Error(environment) where anything of it fails: the sources are the benchmark's own.
class Work {
 public:
  Work(std::string name, runtime::Compiler& compiler, const TranslationUnit& unit);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// New memory holding `bytes`.
  void add_input(const std::string& buffer, std::span<const std::byte> bytes);
  void add_memory(const std::string& buffer, std::uint64_t bytes, bool zeroed = false);
  void add_launch(const ResolvedLaunch& launch);

  /// All launches in order. A finding of the checker is an Error too: a wrong run is not a measurement.
  [[nodiscard]] Sample execute(const emulator::LaunchOptions& options);

 private:
  struct Launch {
    const emulator::Program* program;
    emulator::LaunchRequest request;
  };
  [[nodiscard]] std::vector<std::byte> arguments_of(const ResolvedLaunch& launch,
                                                    const emulator::Program& program) const;

  std::string name_;
  std::unique_ptr<emulator::Arena> arena_;
  std::unique_ptr<runtime::EmulatedModule> module_;
  std::map<std::string, std::string> lowered_names_;  ///< by expression
  Buffers buffers_;
  std::vector<Launch> launches_;
  std::uint64_t next_block_ = 1;
};

/// Works are made one at a time: each takes a build and much memory.
struct WorkFactory {
  std::string name;
  std::function<Work()> make;
};

/// Points of the spaces of the shipped templates. @param quick tiny shapes. @param compiler
/// must outlive them.
[[nodiscard]] std::vector<WorkFactory> template_works(runtime::Compiler& compiler, bool quick);
/// Kernels that do little but multiply matrices.
[[nodiscard]] std::vector<WorkFactory> tensor_works(runtime::Compiler& compiler, bool quick);

/// Lanes per second of f32 FMAs over rows of 32 lanes in the first-level cache, without any interpretation:
/// what the host could do at most. @param rounds over 64 rows each.
[[nodiscard]] double toy_loop_rate(int rounds);

/// CPU time of this thread.
[[nodiscard]] double thread_time_ns();

}  // namespace ak::benchmark
