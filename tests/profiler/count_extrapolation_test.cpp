// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/count_extrapolation.h"

#include <catch2/catch.hpp>

namespace ak::profiler {
namespace {

/// A matrix product of tiles of 64 x 64: sectors are read for every tile and step of k, results once.
CallFacts product(double m, double n, double k, const std::string& kernels = "product") {
  CallFacts facts;
  facts.kernels = kernels;
  facts.launches.push_back({.blocks = m * n / 4096, .threads = 256});
  facts.work = {.flops = 2 * m * n * k, .bytes_read = 2 * (m * k + k * n), .bytes_written = 2 * m * n};
  return facts;
}

double sectors(double m, double n, double k) { return m * n / 4096 * (k * 128 * 2 / 32 + 64 * 64 * 2 / 32); }

CountedCall counted(double m, double n, double k, const std::string& kernels = "product") {
  const auto exact = static_cast<std::uint64_t>(sectors(m, n, k));
  return {.facts = product(m, n, k, kernels),
          .counts = {{"global/sectors", exact}, {"inst/warp", 100 + exact}}};
}

TEST_CASE("counts that grow with blocks and operations are extrapolated exactly") {
  const std::vector<CountedCall> small{counted(128, 128, 64), counted(256, 128, 64), counted(128, 128, 128),
                                       counted(256, 256, 128)};
  const auto large = extrapolate_counts(small, product(4096, 4096, 2048));
  REQUIRE(large);
  CHECK(static_cast<double>(large->counts.at("global/sectors")) ==
        Approx(sectors(4096, 4096, 2048)).epsilon(1e-6));
  REQUIRE(large->check_error);
  CHECK(*large->check_error < 0.05);  // the few instructions that do not grow
}

TEST_CASE("one counted shape is enough where the least work says how counts grow") {
  const auto twice = extrapolate_counts(std::vector{counted(128, 128, 64)}, product(256, 128, 64));
  REQUIRE(twice);
  CHECK(static_cast<double>(twice->counts.at("global/sectors")) == Approx(2.0 * sectors(128, 128, 64)));
  CHECK_FALSE(twice->check_error);
}

TEST_CASE("counted shapes that leave open how counts grow are distinguished from those that determine it") {
  const auto ambiguity = [](const std::vector<CountedCall>& small, const CallFacts& target) {
    return extrapolate_counts(small, target)->ambiguity;
  };
  // twice the blocks, bytes and operations: whatever counts follow, they double
  CHECK(ambiguity({counted(128, 128, 64)}, product(256, 128, 64)) < 0.5);
  CHECK(ambiguity({counted(128, 128, 64)}, product(128, 128, 64)) < 1e-6);
  // longer sums are more operations, and no more blocks
  CHECK(ambiguity({counted(128, 128, 64)}, product(4096, 4096, 4096)) > 10);
  CHECK(ambiguity(
            {counted(128, 128, 64), counted(256, 128, 64), counted(128, 128, 128), counted(256, 256, 128)},
            product(4096, 4096, 2048)) < 0.25);
}

TEST_CASE("counts that do not grow as assumed are found by the check") {
  std::vector<CountedCall> small{counted(128, 128, 64), counted(256, 128, 64), counted(256, 256, 128)};
  small.back().counts["inst/warp"] *= 3;
  const auto large = extrapolate_counts(small, product(4096, 4096, 2048));
  REQUIRE(large);
  REQUIRE(large->check_error);
  CHECK(*large->check_error > 0.3);
}

TEST_CASE("counts of other kernels say nothing") {
  CHECK_FALSE(extrapolate_counts(std::vector{counted(128, 128, 64, "other")}, product(256, 128, 64)));
  CHECK_FALSE(extrapolate_counts({}, product(256, 128, 64)));
}

TEST_CASE("no count is ever negative") {
  // falls with the size, which no part of the sum can do
  std::vector<CountedCall> small{counted(128, 128, 64), counted(256, 256, 128)};
  small.back().counts["inst/warp"] = 1;
  const auto large = extrapolate_counts(small, product(4096, 4096, 2048));
  REQUIRE(large);
  CHECK(large->counts.at("inst/warp") < std::uint64_t{1} << 40);
}

}  // namespace
}  // namespace ak::profiler
