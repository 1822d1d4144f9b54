// SPDX-License-Identifier: Apache-2.0
// How long spaces of tunables take to build, against a filter over the product of all values, in CPU time:
//   space_benchmark [DEFINITION.json...]
#include <fmt/format.h>

#include <ctime>
#include <vector>

#include "core/error.h"
#include "core/plan/expression.h"
#include "core/text/file.h"
#include "core/tuning/measured_space.h"

namespace {

using ak::TunableSpace;

constexpr double kMaxFiltered = 1e7;  // products; beyond, a filter takes minutes

struct Case {
  std::string_view name;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::string> constraints;
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
      "shared == 0 or (bx * tx + 14) * (by * ty + 14) < 12 * 1024"}},
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
     {"a * b < 12", "c * d < 6", "(e + f) % 7 == 0", "g <= h <= i", "a + i < 9", "c + g > 2"}},
};

ak::SpaceDefinition definition_of(const Case& test) {
  ak::SpaceDefinition definition{std::string(test.name), {}, test.constraints};
  for (const auto& [name, values] : test.parameters)
    definition.parameters.push_back({name, ak::parse_value_list(values).value()});
  return definition;
}

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::uint64_t filter_product(const ak::SpaceDefinition& definition) {
  const auto& parameters = definition.parameters;
  std::vector<ak::Expression> constraints;
  for (const std::string& text : definition.constraints)
    constraints.push_back(ak::Expression::parse(text).value());
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

void run(const ak::SpaceDefinition& definition) {
  const double start_s = cpu_s();
  const TunableSpace space = TunableSpace::build(definition.parameters, definition.constraints).value();
  const double built_s = cpu_s() - start_s;
  fmt::print("{:<20}{:>16.0f} products {:>10} points {:>9} edges  built in {:.4f} s", definition.kernel,
             space.raw_size(), space.size(), space.edges(), built_s);
  if (space.raw_size() <= kMaxFiltered) {
    const double begin_s = cpu_s();
    const std::uint64_t points = filter_product(definition);
    AK_ASSERT(points == space.size(), "both ways give the same points");
    const double filtered_s = cpu_s() - begin_s;
    fmt::print(", filtered in {:.3f} s: {:.0f} times as long", filtered_s, filtered_s / built_s);
  }
  fmt::print("\n");
}

}  // namespace

int main(int count, char** arguments) {
  for (const Case& test : kCases) run(definition_of(test));
  for (int i = 1; i < count; ++i)
    run(ak::parse_definition(ak::parse_json(ak::read_file(arguments[i]))).value());
  return 0;
}
