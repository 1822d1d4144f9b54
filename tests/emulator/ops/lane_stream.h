// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {

/// Half of the warps are half full, so that handlers are seen with and without all lanes.
inline constexpr std::uint32_t kStreamThreads = 48;

namespace detail {

inline std::string stream_load(int index, int bits) {
  return fmt::format("mad.wide.u32 %rd{0}, %r3, {1}, %rd{2};\nld.global.b{3} in{4}, [%rd{0}];\n", 10 + index,
                     bits / 8, 90 + index, bits, index);
}

template <class T>
std::vector<T> padded(std::vector<T> values) {
  values.resize((values.size() + kStreamThreads - 1) / kStreamThreads * kStreamThreads);
  return values;
}

}  // namespace detail

/// Runs an instruction on registers in0, in1, ... (of the inputs' sizes) and out, once for each element.
/// `out_bits`: size of the register out, of which R's size is stored.
template <class R, class... A>
std::vector<R> stream(const std::string& instruction, int out_bits, const std::vector<A>&... inputs) {
  const std::size_t count = std::max({inputs.size()...});
  std::string text = fmt::format(".reg .b{} out;\n", out_bits);
  int index = 0;
  ((text += fmt::format(".reg .b{} in{};\n", 8 * sizeof(A), index++)), ...);
  text +=
      "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.u32 %r3, %r0, %r1, "
      "%r2;\n";
  index = 0;
  ((text += detail::stream_load(index++, 8 * sizeof(A))), ...);
  text += instruction + ";\n";
  text += fmt::format("mad.wide.u32 %rd20, %r3, {}, %rd{};\nst.global.b{} [%rd20], out;\n", sizeof(R),
                      90 + sizeof...(A), 8 * sizeof(R));
  PtxKernel kernel = PtxKernel::body(text, sizeof...(A) + 1);
  const std::size_t padded_count = detail::padded(std::vector<char>(count)).size();
  const std::uint64_t out = kernel.memory(padded_count * sizeof(R));
  kernel.run(static_cast<std::uint32_t>(padded_count / kStreamThreads), kStreamThreads,
             kernel.upload(detail::padded(inputs))..., out);
  return kernel.download<R>(out, count);
}
template <class R, class... A>
std::vector<R> stream(const std::string& instruction, const std::vector<A>&... inputs) {
  return stream<R>(instruction, 8 * sizeof(R), inputs...);
}

/// Compares element by element and names the first that differs.
template <class R, class Expected, class Describe>
void expect_all(const std::string& instruction, const std::vector<R>& got, Expected expected,
                Describe describe) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const R want = static_cast<R>(expected(i));
    if (got[i] == want) continue;
    FAIL(instruction << " of " << describe(i) << fmt::format(" gives {:#x}, not {:#x}", got[i], want));
  }
  SUCCEED();
}

}  // namespace ak::emulator::test
