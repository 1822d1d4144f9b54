// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulator/differential/answers.h"

namespace ak::emulator::differential {

/// How the emulator did on one case.
enum class Verdict : std::uint8_t {
  agrees,
  differs,
  refused,      ///< by the GPU's driver: there is nothing to compare with
  unsupported,  ///< the emulator refused an instruction
  failed,       ///< the emulator could not read the kernel, or found a fault in it
  missing,      ///< no answer recorded for the case as it is now
};
inline constexpr std::size_t kVerdicts = 6;

/// One result that differs.
struct Difference {
  std::size_t index = 0;  ///< of the result, or of the row where rows are hashed
  std::uint64_t gpu = 0, emulated = 0;
};

struct CaseReport {
  const Case* of = nullptr;
  Verdict verdict = Verdict::agrees;
  std::vector<Difference> differences;
  bool hashed = false;  ///< differences are of hashes
  std::string message;  ///< unsupported, failed: why
};

/// Results of `emulated` that the rule does not accept alongside `gpu`. `magnitudes` is empty, or an output of
/// the kernel for Case::magnitudes. All as the kernel wrote them.
[[nodiscard]] std::vector<Difference> differences(const Case& one, const std::vector<std::byte>& gpu,
                                                  const std::vector<std::byte>& emulated,
                                                  const std::vector<std::byte>& magnitudes);

/// Runs the emulator and compares. @param gpu the whole output, or as kept() keeps it.
[[nodiscard]] CaseReport examine(const Case& one, const std::vector<std::byte>& gpu);
[[nodiscard]] CaseReport examine(const Case& one, const Answers& answers);

/// "sub.rn.f32 ...: 3 of 448 results differ; first: thread 17 ..." with at most `most` of them.
[[nodiscard]] std::string describe(const CaseReport& report, std::size_t most);

/// Cases by verdict, indexed with it.
struct Tally {
  std::string suite;
  std::array<std::size_t, kVerdicts> count{};
  std::size_t results = 0;  ///< numbers compared
  void add(const CaseReport& report);
  [[nodiscard]] std::size_t of(Verdict verdict) const { return count[static_cast<std::size_t>(verdict)]; }
  [[nodiscard]] bool good() const {
    return of(Verdict::differs) + of(Verdict::failed) + of(Verdict::missing) == 0;
  }
};
/// A table of the suites.
[[nodiscard]] std::string table(const std::vector<Tally>& tallies);

}  // namespace ak::emulator::differential
