// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "emulator/machine/emulator.h"
#include "emulator/parse/parser.h"

namespace ak::emulator::test {

/// A kernel written in PTX, and the emulated memory it runs on. Failing to parse or lower fails the test
/// with the reason.
class PtxKernel {
 public:
  /// A whole module; its first .entry is the kernel.
  explicit PtxKernel(std::string_view module, std::uint64_t arena_bytes = 64u << 20);

  /// Only the body of a kernel `k` with 64-bit parameters p0, p1, ... that hold generic addresses or
  /// integers. Registers %r0-99 (b32), %rd0-99 (b64), %f0-99 (f32), %fd0-99 (f64), %rs0-99 (b16), %p0-31 are
  /// declared, and %rd90.. hold the parameters already (%rd90 = p0, ...); `variables` are declarations in
  /// front of it.
  static PtxKernel body(std::string_view instructions, int parameters = 2, std::string_view variables = "");

  /// New memory holding `values`; its device address.
  template <class T>
  std::uint64_t upload(const std::vector<T>& values, const std::string& name = "input") {
    const std::uint64_t address = memory(values.size() * sizeof(T), name);
    std::memcpy(arena_.host(address, values.size() * sizeof(T)), values.data(), values.size() * sizeof(T));
    arena_.mark_initialized(address, values.size() * sizeof(T), true);
    return address;
  }
  /// New memory that nothing has written.
  std::uint64_t memory(std::size_t bytes, const std::string& name = "output");
  template <class T>
  std::vector<T> download(std::uint64_t address, std::size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), arena_.host(address, count * sizeof(T)), count * sizeof(T));
    return values;
  }

  /// Arguments in order, each copied to where Program::parameters says; sizes must agree.
  template <class... Args>
  LaunchReport run(LaunchRequest request, Args... args) {
    std::vector<std::vector<std::byte>> values;
    (values.push_back(bytes_of(args)), ...);
    return launch(std::move(request), values);
  }
  /// `blocks` x `threads`, expecting no finding (fails the test with its description).
  template <class... Args>
  LaunchReport run(std::uint32_t blocks, std::uint32_t threads, Args... args) {
    LaunchRequest request;
    request.grid = {blocks, 1, 1};
    request.block = {threads, 1, 1};
    LaunchReport report = run(request, args...);
    expect_no_findings(report);
    return report;
  }
  void expect_no_findings(const LaunchReport& report) const;

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] Arena& arena() { return arena_; }

 private:
  template <class T>
  static std::vector<std::byte> bytes_of(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }
  LaunchReport launch(LaunchRequest request, const std::vector<std::vector<std::byte>>& arguments);

  Arena arena_;
  Program program_;
  std::uint64_t next_launch_ = 1;
};

/// What lowering a kernel body is refused with; fails the test when it is not refused.
[[nodiscard]] Outcome refusal(std::string_view instructions, int parameters = 2,
                              std::string_view variables = "");

}  // namespace ak::emulator::test
