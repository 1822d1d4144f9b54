// SPDX-License-Identifier: Apache-2.0
// What a precision costs before any kernel.
#include "app/precision/precision_errors.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/temporary_folder.h"

namespace ak::app {
namespace {

using testing::TemporaryFolder;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A dump of y = f(x) with one workload and the given distributions.
struct Dump {
  TemporaryFolder folder;
  Json index{{"data_sets", Json::array()}};

  template <class T>
  void add(const std::string& distribution, const std::string& dtype, const std::vector<T>& x,
           const std::vector<double>& y, const std::string& declared, std::vector<std::size_t> shape) {
    write_file_atomically(folder / (distribution + ".x"), bytes_of(x));
    write_file_atomically(folder / (distribution + ".y"), bytes_of(y));
    index["data_sets"].push_back(
        {{"workload", "w"},
         {"distribution", distribution},
         {"inputs", {{{"name", "x"}, {"dtype", dtype}, {"shape", shape}, {"file", distribution + ".x"}}}},
         {"outputs",
          {{{"name", "y"},
            {"dtype", "float64"},
            {"declared_dtype", declared},
            {"shape", shape},
            {"file", distribution + ".y"}}}}});
    write_file_atomically(folder / "index.json", index.dump());
  }
};

constexpr std::uint16_t kOneBf16 = 0x3f80, kTwoBf16 = 0x4000;

TEST_CASE("rounded inputs and rounded results are told apart, and the worst distribution is named") {
  Dump wide, narrow;
  // 1.001 becomes 1 in bfloat16; the function is x * 3.001.
  wide.add<float>("normal", "float32", {1.001F, 2.0F}, {3.004, 6.002}, "float32", {2});
  narrow.add<std::uint16_t>("normal", "bfloat16", {kOneBf16, kTwoBf16}, {3.001, 6.002}, "bfloat16", {2});
  wide.add<float>("exact", "float32", {1.0F, 2.0F}, {3.0, 6.0}, "float32", {2});
  narrow.add<std::uint16_t>("exact", "bfloat16", {kOneBf16, kTwoBf16}, {3.0, 6.0}, "bfloat16", {2});
  const double rms = std::sqrt((3.004 * 3.004 + 6.002 * 6.002) / 2);
  const PrecisionErrors errors = precision_errors(narrow.folder.path(), wide.folder.path(), {}, {});
  CHECK(errors.compared == 2);
  CHECK(errors.data_sets == 2);
  CHECK(errors.inputs == Approx(0.003 / (3.004 + rms)));
  CHECK(errors.rounded == Approx(0.004 / (3.004 + rms)));  // 3.001 is 3 in bfloat16
  CHECK(errors.worst == "normal");
  CHECK(precision_errors(narrow.folder.path(), wide.folder.path(), {}, {"exact"}).rounded == 0);
  const PrecisionErrors own = precision_errors(narrow.folder.path(), wide.folder.path(), {}, {"none"});
  CHECK(own.inputs == 0);
  CHECK(own.rounded > 0);
}

TEST_CASE("inputs that are not the rounded ones of the widest precision say nothing") {
  Dump wide, narrow;
  wide.add<float>("normal", "float32", {1.0F, 2.0F}, {1.0, 2.0}, "float32", {2});
  narrow.add<std::uint16_t>("normal", "bfloat16", {kOneBf16, kOneBf16}, {1.0, 1.0}, "bfloat16", {2});
  const PrecisionErrors errors = precision_errors(narrow.folder.path(), wide.folder.path(), {}, {});
  CHECK(errors.compared == 0);
  CHECK(errors.data_sets == 1);
}

TEST_CASE("errors are relative to the row where the problem says so, and what overflows is infinitely off") {
  Dump wide, narrow;
  wide.add<float>("rows", "float32", {1.0F, 2.0F}, {1.0, 1e6}, "float32", {2, 1});
  narrow.add<std::uint16_t>("rows", "bfloat16", {kOneBf16, kTwoBf16}, {1.25, 1e6}, "float16", {2, 1});
  Tolerance tolerance;
  CHECK(precision_errors(narrow.folder.path(), wide.folder.path(), tolerance, {}).inputs < 1e-6);
  tolerance.outputs["y"] = {.per_row = true};
  const PrecisionErrors errors = precision_errors(narrow.folder.path(), wide.folder.path(), tolerance, {});
  CHECK(errors.inputs == Approx(0.125));
  CHECK(std::isinf(errors.rounded));  // 1e6 is no float16
}

TEST_CASE("a kernel within what is left of a bound is within the bound") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (const double share : {0.0, 0.1, 0.5, 0.9}) {
    const double bound = 0.05;
    std::vector<double> wide, rounded;
    double squares = 0, of_rounded = 0;
    for (int i = 0; i < 1000; ++i) wide.push_back(unit(random)), squares += wide.back() * wide.back();
    const double rms = std::sqrt(squares / 1000);
    for (const double w : wide) {
      rounded.push_back(w +
                        share * bound * (std::abs(w) + rms) * (w > 0 ? 1 : -1));  // away from zero: the worst
      of_rounded += rounded.back() * rounded.back();
    }
    const double rms_rounded = std::sqrt(of_rounded / 1000);
    const double left = left_for_kernels(bound, {.inputs = share * bound});
    REQUIRE(left > 0);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const double got = rounded[i] + left * (std::abs(rounded[i]) + rms_rounded) * (wide[i] > 0 ? 1 : -1);
      CHECK(std::abs(got - wide[i]) / (std::abs(wide[i]) + rms) <= bound * (1 + 1e-9));
    }
  }
  CHECK(left_for_kernels(0.05, {.inputs = 0.06}) < 0);
}

}  // namespace
}  // namespace ak::app
