// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/expression.h"

namespace ak::app {

/// Names with the expressions that are their values, in the order of the file.
using NamedExpressions = std::vector<std::pair<std::string, Expression>>;

/// An integer of a geometry file.
struct GeometrySize {
  std::string name, help;
  std::optional<Expression> default_value;  ///< over what was read before it; nothing: it has to be given
  std::int64_t least = 1;
};

/// A word of a geometry file.
struct GeometryText {
  std::string name, help, default_value;
  std::vector<std::string> choices;
  std::map<std::string, std::string, std::less<>> spelled;  ///< other spelling -> choice
};

/// Yes or no.
struct GeometryFlag {
  std::string name, help;
  Expression default_value;
};

/// What has to hold of sizes.
struct GeometryRule {
  Expression condition;
  std::string why;
  std::string unless_given;  ///< a size: with it the rule says nothing
};

/// An algorithm of the library that can do an operator of a model, where `when` holds.
struct OperatorKernel {
  std::optional<Expression> when;
  std::string algorithm;
  NamedExpressions params, axes;
};

/// One line of a step.
struct OperatorEntry {
  std::string name, what;
  std::vector<std::string> phases;  ///< empty: all
  Expression count;                 ///< times that a step has it; 0: it has none
  std::optional<Expression> when;
  NamedExpressions with;                ///< names for `choices`, `flops` and `bytes`
  std::vector<OperatorKernel> choices;  ///< the first that suits
  Expression flops, bytes;              ///< least of one call, where the library has no formula for it
};

/// A step that a model takes again and again, such as "decode".
struct ModelPhase {
  std::string name;
  std::vector<std::string> over;  ///< of batch, prompt, context: a step for each combination of their values
  NamedExpressions let;
};

/// How the sizes of a model become the operators of its steps. One JSON file each, described in docs/kernel_library.md.
struct ModelKind {
  std::string name, summary;
  std::vector<std::string> model_types;  ///< as config.json of Hugging Face names them
  std::map<std::string, std::string, std::less<>> aliases;
  std::vector<GeometrySize> sizes;
  std::vector<GeometryText> texts;
  std::vector<GeometryFlag> flags;
  std::vector<GeometryRule> rules;
  std::map<std::string, std::string, std::less<>> not_described;  ///< key -> what a model with it has besides
  NamedExpressions let;
  std::vector<ModelPhase> phases;
  std::vector<OperatorEntry> operators;
};

/// Those that come with the program.
[[nodiscard]] const std::vector<ModelKind>& shipped_model_kinds();

/// Throws Error(bad_input) naming file, key and what was expected.
[[nodiscard]] ModelKind read_model_kind(const std::filesystem::path& file);

}  // namespace ak::app
