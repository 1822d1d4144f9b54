// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/model_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json_reader.h"
#include "core/text/written_json.h"
#include "model_kind_files.h"

namespace ak::app {
namespace {

constexpr Format kKindFormat{.name = "a kind of model"};
constexpr std::array<std::string_view, 3> kOver{"batch", "prompt", "context"};
constexpr std::size_t kMaxKindBytes = 1u << 20;  // those that ship have 20 KB

Expression read_expression(const JsonReader& at) {
  Result<Expression> expression = Expression::parse(at.text());
  if (!expression) at.reject(expression.error().message);
  return std::move(expression).value();
}

std::optional<Expression> read_optional_expression(const JsonReader& at, std::string_view key) {
  const auto found = at.find(key);
  return found ? std::optional(read_expression(*found)) : std::nullopt;
}

std::string read_optional_text(const JsonReader& at, std::string_view key) {
  const auto found = at.find(key);
  return found ? found->text() : "";
}

NamedExpressions read_named_expressions(const JsonReader& at, std::string_view key) {
  NamedExpressions named;
  if (const auto found = at.find(key)) {
    for (const auto& [name, value] : found->members()) named.emplace_back(name, read_expression(value));
  }
  return named;
}

std::vector<std::string> read_words(const JsonReader& at) {
  std::vector<std::string> words;
  for (const JsonReader& item : at.items()) words.push_back(item.text());
  return words;
}

using Words = std::map<std::string, std::string, std::less<>>;
Words read_word_map(const JsonReader& at, std::string_view key) {
  Words words;
  if (const auto found = at.find(key)) {
    for (const auto& [name, value] : found->members()) words[name] = value.text();
  }
  return words;
}

GeometrySize read_size(const std::string& name, const JsonReader& at) {
  at.only({"default", "least", "help"});
  const auto least = at.find("least");
  return {.name = name,
          .help = at.member("help").text(),
          .default_value = read_optional_expression(at, "default"),
          .least = least ? least->integer() : 1};
}

GeometryText read_text(const std::string& name, const JsonReader& at) {
  at.only({"default", "choices", "spelled", "help"});
  GeometryText text{.name = name,
                    .help = at.member("help").text(),
                    .default_value = at.member("default").text(),
                    .choices = read_words(at.member("choices")),
                    .spelled = read_word_map(at, "spelled")};
  if (std::ranges::find(text.choices, text.default_value) == text.choices.end())
    at.member("default").fail("one of the choices");
  return text;
}

GeometryRule read_rule(const JsonReader& at) {
  at.only({"unless_given", "condition", "why"});
  return {.condition = read_expression(at.member("condition")),
          .why = at.member("why").text(),
          .unless_given = read_optional_text(at, "unless_given")};
}

OperatorKernel read_choice(const JsonReader& at) {
  return {.when = read_optional_expression(at, "when"),
          .algorithm = at.member("algorithm").text(),
          .params = read_named_expressions(at, "params"),
          .axes = read_named_expressions(at, "axes")};
}

using Kernels = std::map<std::string, std::vector<OperatorKernel>, std::less<>>;
Kernels read_kernels(const JsonReader& at) {
  Kernels kernels;
  const auto found = at.find("kernels");
  if (!found) return kernels;
  for (const auto& [name, choices] : found->members()) {
    for (const JsonReader& choice : choices.items()) {
      choice.only({"when", "algorithm", "params", "axes"});
      kernels[name].push_back(read_choice(choice));
    }
  }
  return kernels;
}

/// What it `uses`, its own algorithm, or nothing: then it is one that the library does not have.
std::vector<OperatorKernel> read_choices(const JsonReader& at, const Kernels& kernels) {
  if (const auto uses = at.find("uses")) {
    const auto found = kernels.find(uses->text());
    if (found == kernels.end()) uses->fail("a name of 'kernels'");
    return found->second;
  }
  if (!at.find("algorithm")) return {};
  OperatorKernel own = read_choice(at);
  own.when.reset();  // that of the operator
  return {std::move(own)};
}

OperatorEntry read_operator(const JsonReader& at, const Kernels& kernels) {
  at.only({"operator", "what", "phases", "count", "when", "uses", "with", "algorithm", "params", "axes",
           "flops", "bytes"});
  const auto phases = at.find("phases");
  return {.name = at.member("operator").text(),
          .what = at.member("what").text(),
          .phases = phases ? read_words(*phases) : std::vector<std::string>{},
          .count = read_expression(at.member("count")),
          .when = read_optional_expression(at, "when"),
          .with = read_named_expressions(at, "with"),
          .choices = read_choices(at, kernels),
          .flops = read_expression(at.member("flops")),
          .bytes = read_expression(at.member("bytes"))};
}

ModelPhase read_phase(const JsonReader& at) {
  at.only({"name", "over", "let"});
  ModelPhase phase{.name = at.member("name").text(),
                   .over = read_words(at.member("over")),
                   .let = read_named_expressions(at, "let")};
  for (const std::string& name : phase.over) {
    if (std::ranges::find(kOver, name) == kOver.end()) at.member("over").fail("batch, prompt or context");
  }
  return phase;
}

ModelKind read_kind(const JsonReader& at) {
  at.only({kKindFormat.key, "name", "summary", "model_types", "aliases", "sizes", "texts", "flags",
           "requires", "not_described", "let", "phases", "kernels", "operators"});
  ModelKind kind{.name = at.member("name").text(),
                 .summary = at.member("summary").text(),
                 .model_types = read_words(at.member("model_types")),
                 .aliases = read_word_map(at, "aliases"),
                 .sizes = {},
                 .texts = {},
                 .flags = {},
                 .rules = {},
                 .not_described = read_word_map(at, "not_described"),
                 .let = read_named_expressions(at, "let"),
                 .phases = {},
                 .operators = {}};
  for (const auto& [name, size] : at.member("sizes").members()) kind.sizes.push_back(read_size(name, size));
  for (const auto& [name, text] : at.member("texts").members()) kind.texts.push_back(read_text(name, text));
  if (const auto flags = at.find("flags")) {
    for (const auto& [name, flag] : flags->members()) {
      flag.only({"default", "help"});
      kind.flags.push_back({.name = name,
                            .help = flag.member("help").text(),
                            .default_value = read_expression(flag.member("default"))});
    }
  }
  if (const auto rules = at.find("requires"))
    for (const JsonReader& rule : rules->items()) kind.rules.push_back(read_rule(rule));
  for (const JsonReader& phase : at.member("phases").items()) kind.phases.push_back(read_phase(phase));
  const Kernels kernels = read_kernels(at);
  for (const JsonReader& entry : at.member("operators").items())
    kind.operators.push_back(read_operator(entry, kernels));
  if (kind.operators.empty()) at.member("operators").fail("at least one operator");
  return kind;
}

ModelKind kind_of_text(std::string_view text, const std::string& file) {
  try {
    const Json json = up_to_date(kKindFormat, parse_written_json(text));
    return read_kind(JsonReader(json));
  } catch (const JsonInputError& error) {
    fail(ExitCode::bad_input, "{}: {}", file, error.what());
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", file, error.what());
  }
}

}  // namespace

const std::vector<ModelKind>& shipped_model_kinds() {
  static const std::vector<ModelKind> kinds = [] {
    std::vector<ModelKind> all;
    for (const EmbeddedFile& file : model_kind_files())
      all.push_back(kind_of_text(file.text, std::string(file.name)));
    return all;
  }();
  return kinds;
}

ModelKind read_model_kind(const std::filesystem::path& file) {
  return kind_of_text(read_file(file, kMaxKindBytes), file.string());
}

}  // namespace ak::app
