// SPDX-License-Identifier: Apache-2.0
// How long spaces of tunables take to build, against a filter over the product of all values.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/expression.h"
#include "core/tuning/tunable_space.h"

namespace {

using ak::TunableSpace;

struct Case {
  std::string_view name;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::string> constraints;
  bool filter;  ///< small enough for the product to be walked
};

const std::vector<Case> kCases{
    {"tiles",
     {{"bx", "[1, 2, 4, 8, 16] + list(range(32, 513, 32))"},
      {"by", "[1, 2, 4, 8, 16]"},
      {"tx", "range(1, 9)"},
      {"ty", "range(1, 9)"},
      {"shared", "[0, 1]"},
      {"pad", "[0, 1]"}},
     {"32 <= bx * by <= 1024", "pad == 0 or bx % 32 != 0", "pad == 0 or shared != 0",
      "shared == 0 or (bx * tx + 14) * (by * ty + 14) < 12 * 1024"},
     true},
    {"nine digits",  // 10^9 products, about 10^6 points
     {{"a", "range(10)"},
      {"b", "range(10)"},
      {"c", "range(10)"},
      {"d", "range(10)"},
      {"e", "range(10)"},
      {"f", "range(10)"},
      {"g", "range(10)"},
      {"h", "range(10)"},
      {"i", "range(10)"}},
     {"a * b < 12", "c * d < 6", "(e + f) % 7 == 0", "g <= h <= i", "a + i < 9", "c + g > 2"},
     false},
};

std::vector<ak::TuningParameter> parameters_of(const Case& test) {
  std::vector<ak::TuningParameter> parameters;
  for (const auto& [name, values] : test.parameters)
    parameters.push_back({name, ak::parse_value_list(values).value()});
  return parameters;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::uint64_t filter_product(const Case& test, const std::vector<ak::TuningParameter>& parameters) {
  std::vector<ak::Expression> constraints;
  for (const std::string& text : test.constraints) constraints.push_back(ak::Expression::parse(text).value());
  std::vector<std::size_t> at(parameters.size(), 0);
  ak::Environment environment;
  for (std::uint64_t points = 0;;) {
    for (std::size_t i = 0; i < at.size(); ++i)
      environment[parameters[i].name] = std::get<std::int64_t>(parameters[i].values[at[i]]);
    bool holds = true;
    for (const ak::Expression& constraint : constraints)
      holds = holds && constraint.evaluate_bool(environment).value();
    points += holds ? 1 : 0;
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == parameters[i].values.size()) at[i++] = 0;
    if (i == at.size()) return points;
  }
}

void run(const Case& test) {
  const auto parameters = parameters_of(test);
  const auto start = std::chrono::steady_clock::now();
  const TunableSpace space = TunableSpace::build(parameters, test.constraints).value();
  const double built_s = seconds_since(start);
  fmt::print("{:<14}{:>16.0f} products {:>10} points {:>9} edges  built in {:.4f} s", test.name,
             space.raw_size(), space.size(), space.edges(), built_s);
  if (test.filter) {
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t points = filter_product(test, parameters);
    AK_ASSERT(points == space.size(), "both ways give the same points");
    const double filtered_s = seconds_since(begin);
    fmt::print(", filtered in {:.3f} s: {:.0f} times as long", filtered_s, filtered_s / built_s);
  }
  fmt::print("\n");
}

}  // namespace

int main() {
  for (const Case& test : kCases) run(test);
  return 0;
}
