// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ak::emulator::differential {

/// How the numbers of a result are read, for NaNs and error bounds.
enum class Number : std::uint8_t { bits8, bits16, bits32, bits64, f16, f16x2, bf16, bf16x2, f32, f64 };
[[nodiscard]] int bytes(Number number);

/// When an answer of the emulator agrees with one of the GPU.
enum class Agreement : std::uint8_t {
  exact,    ///< bit for bit
  any_nan,  ///< bit for bit, but a NaN may be any NaN (PTX leaves its payload open)
  close,    ///< within Rule::relative times the GPU's, plus Rule::absolute; infinities and NaNs as the GPU's
  sum,      ///< the same, but relative to what the emulator gives for Case::magnitudes
};

struct Rule {
  Agreement agreement = Agreement::exact;
  double relative = 0, absolute = 0;
};

/// One kernel with its inputs. Kernels take the addresses of the inputs and of the outputs.
struct Case {
  std::string name;   ///< instruction or program, unique in its suite
  std::string entry;  ///< name of the kernel, unique in its suite
  std::string text;   ///< PTX of the kernel
  std::uint32_t blocks = 1, threads = 32;
  std::vector<std::uint64_t> inputs;
  int inputs_per_thread = 0;  ///< words of `inputs` to print with a mismatch; 0: none
  /// Agreement::sum: `inputs` without signs, for which the kernel adds up the magnitudes of all terms.
  std::vector<std::uint64_t> magnitudes;
  Number result = Number::bits32;
  std::uint32_t results = 0;  ///< count of numbers written
  /// 0: every result is recorded. Else a 32-bit hash of each row of so many consecutive results.
  std::uint32_t hashed_row = 0;
  Rule rule;

  [[nodiscard]] std::size_t output_bytes() const {
    return std::size_t{results} * static_cast<std::size_t>(bytes(result));
  }
};

/// Cases whose answers share a file.
struct Suite {
  std::string name;
  std::vector<Case> cases;
};

/// Everything, the same in every process.
[[nodiscard]] std::vector<Suite> all_suites();

/// One PTX module (sm_90a) with the kernels of `cases`.
[[nodiscard]] std::string module_of(std::span<const Case> cases);
/// Cases of `suite` in batches that make modules of moderate size.
[[nodiscard]] std::vector<std::span<const Case>> batches(const Suite& suite);

/// 64-bit hash of kernel and inputs: tells whether recorded answers are to this question.
[[nodiscard]] std::uint64_t key_of(const Case& one);
/// FNV-1a.
[[nodiscard]] std::uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace ak::emulator::differential
