// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/device/device_facts.h"
#include "emulator/machine/emulator.h"
#include "runtime/cuda/launch_inspector.h"
#include "runtime/emulated/emulated_module.h"

namespace ak::runtime {

/// Since 1970-01-01 UTC.
[[nodiscard]] std::uint64_t wall_clock_ns();

/// The CPU as a CUDA device: memory, modules and launches behind the driver calls of the same names. A
/// launch has ended when its call returns. A kernel's fault is the call's result; the device continues after
/// it. One thread.
class EmulatedDevice final : public LaunchInspector {
 public:
  /// @param sm_count  multiprocessors; 0: as many as the target's product has
  /// @param start_ns what kernels read as the time, since 1970-01-01 UTC; it goes on with what they execute.
  explicit EmulatedDevice(const Arch& target, std::uint64_t start_ns = wall_clock_ns(), int sm_count = 0);

  [[nodiscard]] const DeviceFacts& facts() const noexcept { return facts_; }

  [[nodiscard]] CUresult allocate(CUdeviceptr& address, std::size_t bytes);
  [[nodiscard]] CUresult release(CUdeviceptr address);
  [[nodiscard]] CUresult fill(CUdeviceptr address, unsigned char value, std::size_t bytes);
  [[nodiscard]] CUresult copy_to_host(void* to, CUdeviceptr from, std::size_t bytes);
  [[nodiscard]] CUresult copy_from_host(CUdeviceptr to, const void* from, std::size_t bytes);
  [[nodiscard]] CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);

  // Virtual memory. A handle's contents lie at the first address it is mapped to, and it can be mapped to no
  // other: that is all VirtualMemory needs here.
  [[nodiscard]] CUresult create_memory(CUmemGenericAllocationHandle& handle, std::size_t bytes);
  [[nodiscard]] CUresult release_memory(CUmemGenericAllocationHandle handle);
  [[nodiscard]] CUresult reserve_addresses(CUdeviceptr& address, std::size_t bytes);
  [[nodiscard]] CUresult map(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle);
  [[nodiscard]] CUresult set_access(CUdeviceptr address);
  [[nodiscard]] CUresult unmap(CUdeviceptr address);
  [[nodiscard]] CUresult free_addresses(CUdeviceptr address);

  /// @param text zero-terminated PTX.
  [[nodiscard]] CUresult load(CUmodule& module, const char* text);
  [[nodiscard]] CUresult unload(CUmodule module);
  [[nodiscard]] CUresult find_kernel(CUfunction& function, CUmodule module, const char* name);
  [[nodiscard]] CUresult find_variable(CUdeviceptr& address, std::size_t& bytes, CUmodule module,
                                       const char* name) const;
  [[nodiscard]] CUresult launch(const CUlaunchConfig& config, EmulatedFunction& function, void** arguments);

  /// What the last load or launch that ended in `result` had to say; empty when another result came last.
  [[nodiscard]] const std::string& message_for(CUresult result) const;

  void name_region(BufferView view, const std::string& name, bool read_only) override;
  void mark_contents(BufferView view, bool initialized) override;
  [[nodiscard]] std::byte* host(BufferView view) override;
  void set_inspection(const InspectionOptions& inspection) override;
  [[nodiscard]] std::optional<Outcome> take_outcome() override;
  [[nodiscard]] std::uint64_t take_warp_instructions() override;
  [[nodiscard]] LaunchCounts take_counts() override;
  [[nodiscard]] TouchedBytes touched_bytes(BufferView view) const override;

 private:
  struct Reservation {
    std::size_t bytes = 0;
    CUmemGenericAllocationHandle mapped = 0;  ///< 0: none
  };
  struct Memory {
    std::size_t bytes = 0;
    CUdeviceptr address = 0;  ///< where its contents lie; 0: it was never mapped
  };
  CUresult refuse(CUresult result, Outcome outcome);
  void say_notes(const emulator::Program& program, const emulator::Findings& findings);
  CUresult judge(const emulator::Program& program, const emulator::LaunchReport& report);
  void count(const emulator::Program& program, const emulator::LaunchRequest& request,
             const emulator::Counters& counters);

  Arch target_;
  DeviceFacts facts_;
  emulator::Arena arena_;
  std::map<CUdeviceptr, Reservation> reservations_;
  std::map<CUmemGenericAllocationHandle, Memory> memories_;
  CUmemGenericAllocationHandle last_handle_ = 0;
  std::map<CUmodule, std::unique_ptr<EmulatedModule>> modules_;

  InspectionOptions inspection_;
  std::uint64_t launched_blocks_ = 0, launches_ = 0;
  std::shared_ptr<const emulator::LaunchFootprint> last_footprint_;  ///< of the launch before
  emulator::LaunchFootprint touched_;                                ///< for touched_bytes()
  std::uint64_t now_ns_;
  std::uint64_t warp_instructions_ = 0;
  LaunchCounts counts_;
  std::optional<Outcome> outcome_;
  CUresult last_failure_ = CUDA_SUCCESS;
  std::set<std::pair<int, emulator::FaultKind>> notes_said_;  ///< line, kind
  std::string words_;
};

}  // namespace ak::runtime
