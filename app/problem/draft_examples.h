// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/setup/config.h"
#include "app/setup/target.h"
#include "codegen/problem/problem_catalog.h"
#include "core/text/json.h"

namespace ak::app {

/// The file of a drafted folder with examples that were worked out by hand: a second account of what is computed,
/// which the reference has to agree with.
inline constexpr const char* kExamplesFile = "examples.json";

/// One of them: small inputs, and the results that its author expects.
struct DraftExample {
  std::string workload;
  std::map<std::string, std::string> params = {};  ///< that are not at their defaults
  Json inputs = Json::object();                    ///< tensor -> numbers, in lists as its shape nests them
  Json outputs = Json::object();                   ///< the same
};

/// What the reference makes of one.
struct ExampleRun {
  DraftExample example;
  Json computed = Json::object();        ///< output -> what the exact reference gives, nested
  std::vector<std::string> faults = {};  ///< where the two do not agree, suitable for the model that wrote it
  std::map<std::string, bool> mutations =
      {};  ///< of the problem, by name, but for those shown before: whether the reference with it disagrees
};

/// Throws JsonInputError naming the place.
[[nodiscard]] std::vector<DraftExample> read_examples(std::string_view text);

/// Runs the exact reference on the example's inputs, on the CPU device. Blocks. Throws JsonInputError where the example
/// does not fit the problem, Error(usage) for unknown params, else as runtime::dump_references(). Where both agree, the
/// reference with each of the problem's mutations runs, too, that no run before has shown.
[[nodiscard]] ExampleRun run_example(const codegen::Problem& problem, const DraftExample& example,
                                     const std::vector<ExampleRun>& before, const Target& target,
                                     const Config& config);

/// Mutations that this example is the first to show, by name.
[[nodiscard]] std::vector<std::string> shown_mutations(const ExampleRun& run);

/// Mutations that no example shows, by name: whether the reference itself makes that mistake, nothing here can say.
[[nodiscard]] std::vector<std::string> unshown_mutations(const std::vector<ExampleRun>& runs);

}  // namespace ak::app
