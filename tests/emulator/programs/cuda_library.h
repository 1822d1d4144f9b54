// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/text/file.h"
#include "tests/emulator/programs/cuda_program.h"

namespace ak::emulator::test {

/// A kernel of a file in cuda/.
inline CudaProgram library_kernel(const std::string& file, const std::string& kernel,
                                  Arch arch = {9, 0, 'a'}) {
  return CudaProgram(read_file(std::string(AK_CUDA_SOURCES) + "/" + file), kernel, arch,
                     {std::string("--include-path=") + AK_CUDA_SOURCES});
}

/// Calls `once(request)` for orders of warps and blocks that differ.
template <class F>
void for_each_order(std::uint32_t blocks, std::uint32_t threads, F once) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    INFO("seed " << seed);
    LaunchRequest request;
    request.grid = {blocks, 1, 1};
    request.block = {threads, 1, 1};
    request.options.seed = seed;
    request.options.instruction_budget = 50'000'000;
    once(request);
  }
}

/// Integers in [0, below), the same in every run.
template <class T>
std::vector<T> random_integers(std::size_t count, std::uint32_t below, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random() % below);
  return values;
}

/// Every element in one check: Catch2 takes microseconds for each.
template <class T, class U>
void check_equal(const std::vector<T>& got, const std::vector<U>& expected, const std::string& what = {}) {
  REQUIRE(got.size() == expected.size());
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = got.size(); i-- > 0;) {
    if (got[i] == static_cast<T>(expected[i])) continue;
    ++wrong;
    first = i;
  }
  INFO(what << ": " << wrong << " of " << got.size() << " are wrong, the first at " << first);
  if (wrong != 0) {
    INFO("got " << +got[first] << ", expected " << +expected[first]);
    CHECK(wrong == 0);
  }
}

}  // namespace ak::emulator::test
