// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/device/arch.h"
#include "emulator/machine/emulator.h"

namespace ak::emulator::test {

/// CUDA C++ built by NVRTC, one of its kernels lowered, and memory to run it on. A source that does not build
/// or lower fails the test with the reason.
class CudaProgram {
 public:
  /// @param kernel a name expression: "k", "sum<float>".
  CudaProgram(const std::string& source, const std::string& kernel, Arch arch = {9, 0, 'a'},
              std::vector<std::string> options = {});

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] Arena& arena() { return arena_; }

  template <class T>
  std::uint64_t upload(const std::vector<T>& values, const std::string& name = "input",
                       bool read_only = false) {
    const std::uint64_t bytes = values.size() * sizeof(T);
    const std::uint64_t address = memory(bytes, name);
    std::memcpy(arena_.host(address, bytes), values.data(), bytes);
    arena_.mark_initialized(address, bytes, true);
    if (read_only) arena_.set_region(address, bytes, name, true);
    return address;
  }
  std::uint64_t memory(std::uint64_t bytes, const std::string& name = "output");
  template <class T>
  [[nodiscard]] std::vector<T> download(std::uint64_t address, std::size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), arena_.host(address, count * sizeof(T)), count * sizeof(T));
    return values;
  }

  /// Appends one argument of the next launch.
  template <class T>
  CudaProgram& argument(const T& value) {
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    arguments_.push_back(std::move(bytes));
    return *this;
  }
  /// Launches with the arguments given since the last launch.
  LaunchReport launch(LaunchRequest request);
  /// The same, failing the test for every finding.
  LaunchReport launch_cleanly(LaunchRequest request);

 private:
  Arena arena_{256u << 20};
  Program program_;
  std::vector<std::vector<std::byte>> arguments_;
  std::uint64_t next_launch_ = 1;
};

}  // namespace ak::emulator::test
