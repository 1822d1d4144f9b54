// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/geometry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"

namespace ak::app {
namespace {

// Below it products of three sizes and a batch stay exact; the largest models have sizes of 2^20.
constexpr std::int64_t kMostSize = std::int64_t{1} << 31;
constexpr std::size_t kShownJson = 80;  // bytes of a value that someone else wrote; chosen

std::string shown(const Json& value) {
  return sanitize(value.dump(-1, ' ', false, Json::error_handler_t::replace), kShownJson);
}

/// The file, and what of it counts: keys by the names that the kind has for them.
struct GeometryFile {
  std::string file;
  Json keys = Json::object();

  [[nodiscard]] const Json* find(const std::string& name) const {
    const auto found = keys.find(name);
    return found == keys.end() || found->is_null() ? nullptr : &*found;
  }
  [[noreturn]] void expected(const std::string& name, const std::string& what, const Json& got) const {
    fail(ExitCode::bad_input, "{}: {}: expected {}, got {}", file, name, what, shown(got));
  }
};

/// Models of several parts keep the sizes of the one that reads and writes text in an object of its own.
Json flat(Json json, std::vector<std::string>& notes) {
  const auto text = json.find("text_config");
  if (text == json.end() || !text->is_object()) return json;
  const Json inner = *text;
  json.update(inner);
  notes.emplace_back("the sizes are those of text_config; other parts of the model are not listed");
  return json;
}

/// "torch.bfloat16" is what str() makes of a dtype.
std::string without_torch(std::string word) {
  constexpr std::string_view kTorch = "torch.";
  if (word.starts_with(kTorch)) word.erase(0, kTorch.size());
  return word;
}

/// The scheme that a checkpoint of Hugging Face names; nothing where it names none.
std::optional<std::string> quantisation_of(const GeometryFile& file) {
  const Json* config = file.find("quantization_config");
  if (config == nullptr) return std::nullopt;
  if (!config->is_object()) file.expected("quantization_config", "an object", *config);
  const auto method_at = config->find("quant_method"), bits_at = config->find("bits");
  const std::string method =
      method_at != config->end() && method_at->is_string() ? method_at->get<std::string>() : "";
  const std::int64_t bits =
      bits_at != config->end() && bits_at->is_number_integer() ? bits_at->get<std::int64_t>() : 0;
  if (method == "fp8" || method == "fbgemm_fp8") return "fp8";
  if ((method == "gptq" || method == "awq") && bits == 4) return "int4";
  if (method == "gptq" && bits == 8) return "int8_weights";
  fail(ExitCode::bad_input,
       "{}: quantization_config: the method '{}'{} is none that is known here (fp8, fbgemm_fp8, gptq with 4 "
       "or "
       "8 bits and awq with 4 are); say what it comes to with --quantisation",
       file.file, sanitize(method, kShownJson), bits > 0 ? fmt::format(" with {} bits", bits) : "");
}

std::vector<std::string> known_types() {
  std::vector<std::string> types;
  for (const ModelKind& kind : shipped_model_kinds())
    types.insert(types.end(), kind.model_types.begin(), kind.model_types.end());
  return types;
}

std::string model_type_of(const GeometryFile& file) {
  const Json* type = file.find("model_type");
  if (type == nullptr)
    fail(ExitCode::bad_input, "{}: the key 'model_type' is missing; expected one of {}", file.file,
         fmt::join(known_types(), ", "));
  if (!type->is_string()) file.expected("model_type", "a word", *type);
  return type->get<std::string>();
}

ModelKind kind_of(const GeometryFile& file, const std::filesystem::path& own) {
  if (!own.empty()) return read_model_kind(own);
  const std::string type = model_type_of(file);
  for (const ModelKind& kind : shipped_model_kinds()) {
    if (std::ranges::find(kind.model_types, type) != kind.model_types.end()) return kind;
  }
  const std::vector<std::string> types = known_types();
  fail(ExitCode::bad_input,
       "{}: model_type '{}' is not known{}; known are {}, and --kind FILE describes another one "
       "(docs/kernel_library.md)",
       file.file, sanitize(type, kShownJson), did_you_mean(type, types), fmt::join(types, ", "));
}

/// The keys of other spellings by the kind's names. One that is given in two spellings is a mistake only where they differ.
void rename_keys(GeometryFile& file, const ModelKind& kind) {
  for (const auto& [alias, name] : kind.aliases) {
    const Json* given = file.find(alias);
    if (given == nullptr) continue;
    const Json value = *given;
    if (const Json* other = file.find(name); other != nullptr && *other != value)
      fail(ExitCode::bad_input, "{}: '{}' is {} and '{}', which means the same, is {}", file.file, name,
           shown(*other), alias, shown(value));
    file.keys[name] = value;
  }
}

/// Integers, and reals that are some, as config.json has "50.0".
std::int64_t size_of(const GeometryFile& file, const GeometrySize& size, const Json& value) {
  const std::string what = fmt::format("an integer from {} to {} ({})", size.least, kMostSize, size.help);
  if (!value.is_number()) file.expected(size.name, what, value);
  const double number = value.get<double>();
  if (!(number >= static_cast<double>(size.least) && number <= static_cast<double>(kMostSize)) ||
      number != std::floor(number))
    file.expected(size.name, what, value);
  return static_cast<std::int64_t>(number);
}

void add_sizes(Geometry& geometry, const GeometryFile& file) {
  for (const GeometrySize& size : geometry.kind.sizes) {
    std::int64_t value = 0;
    if (const Json* given = file.find(size.name)) {
      value = size_of(file, size, *given);
    } else if (size.default_value) {
      const Result<std::int64_t> found = size.default_value->evaluate_integer(geometry.values);
      if (!found) fail(ExitCode::bad_input, "{}: {}: {}", file.file, size.name, found.error().message);
      value = size_of(file, size, Json(*found));
    } else {
      fail(ExitCode::bad_input, "{}: the key '{}' is missing: {} of the model, an integer from {}", file.file,
           size.name, size.help, size.least);
    }
    geometry.values[size.name] = value;
    geometry.json[size.name] = value;
  }
}

/// @param instead what the command line says; empty: nothing
std::string text_of(const GeometryFile& file, const GeometryText& text, const std::string& instead) {
  std::string word = text.default_value;
  if (const Json* given = file.find(text.name)) {
    if (!given->is_string()) file.expected(text.name, "a word", *given);
    word = given->get<std::string>();
  }
  if (!instead.empty()) word = instead;
  word = without_torch(std::move(word));
  if (const auto spelled = text.spelled.find(word); spelled != text.spelled.end()) word = spelled->second;
  if (std::ranges::find(text.choices, word) != text.choices.end()) return word;
  const std::string message =
      fmt::format("{}: expected one of {} ({}), got '{}'{}", text.name, fmt::join(text.choices, ", "),
                  text.help, sanitize(word, kShownJson), did_you_mean(word, text.choices));
  if (!instead.empty()) fail(ExitCode::usage, "{}", message);
  fail(ExitCode::bad_input, "{}: {}", file.file, message);
}

void add_texts(Geometry& geometry, const GeometryFile& file, const GeometryRequest& request) {
  for (const GeometryText& text : geometry.kind.texts) {
    std::string instead;
    if (text.name == "dtype") instead = request.dtype;
    if (text.name == "quantisation") instead = request.quantisation;
    const std::string word = text_of(file, text, instead);
    geometry.values[text.name] = word;
    geometry.json[text.name] = word;
  }
}

void add_flags(Geometry& geometry, const GeometryFile& file) {
  for (const GeometryFlag& flag : geometry.kind.flags) {
    bool value = false;
    if (const Json* given = file.find(flag.name)) {
      if (!given->is_boolean())
        file.expected(flag.name, fmt::format("true or false ({})", flag.help), *given);
      value = given->get<bool>();
    } else {
      const Result<bool> found = flag.default_value.evaluate_bool(geometry.values);
      if (!found) fail(ExitCode::bad_input, "{}: {}: {}", file.file, flag.name, found.error().message);
      value = *found;
    }
    geometry.values[flag.name] = std::int64_t{value};
    geometry.json[flag.name] = value;
  }
}

void check_rules(const Geometry& geometry, const GeometryFile& file) {
  for (const GeometryRule& rule : geometry.kind.rules) {
    if (!rule.unless_given.empty() && file.find(rule.unless_given) != nullptr) continue;
    const Result<bool> holds = rule.condition.evaluate_bool(geometry.values);
    if (holds && *holds) continue;
    std::string values;
    for (const std::string& name : rule.condition.names())
      if (const auto found = geometry.values.find(name); found != geometry.values.end())
        values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", name, to_string(found->second));
    fail(ExitCode::bad_input, "{}: {} ({})", file.file, rule.why, values);
  }
}

void note_what_is_not_described(Geometry& geometry, const GeometryFile& file) {
  for (const auto& [key, what] : geometry.kind.not_described) {
    const Json* given = file.find(key);
    const bool none = given == nullptr || *given == Json(0) || *given == Json(1) || *given == Json(false);
    if (!none) geometry.not_described.push_back(fmt::format("{}: {}", key, what));
  }
}

}  // namespace

void add_values(Environment& environment, const NamedExpressions& named, const std::string& where) {
  for (const auto& [name, expression] : named) {
    Result<Value> value = expression.evaluate(environment);
    if (!value)
      fail(ExitCode::bad_input, "{}: {} = {}: {}", where, name, expression.text(), value.error().message);
    environment[name] = std::move(value).value();
  }
}

Geometry read_geometry(const GeometryRequest& request) {
  GeometryFile file{.file = request.file.string()};
  Json json = read_written_json(request.file);
  if (!json.is_object())
    fail(ExitCode::bad_input,
         "{}: expected an object with the sizes of a model, such as config.json of Hugging Face has, got {}",
         file.file, shown(json));
  Geometry geometry{.kind = {}, .name = request.file.stem().string(), .values = {}, .json = Json::object()};
  file.keys = flat(std::move(json), geometry.notes);
  geometry.kind = kind_of(file, request.kind);
  rename_keys(file, geometry.kind);
  if (file.find("quantisation") == nullptr && request.quantisation.empty()) {
    if (const auto scheme = quantisation_of(file)) file.keys["quantisation"] = *scheme;
  }
  if (const Json* name = file.find("name"); name != nullptr && name->is_string())
    geometry.name = sanitize(name->get<std::string>(), kShownJson);
  const Json* type = file.find("model_type");
  const std::string model_type = type == nullptr ? geometry.kind.name : model_type_of(file);
  geometry.values["model_type"] = model_type;
  geometry.json = {{"name", geometry.name}, {"kind", geometry.kind.name}, {"model_type", model_type}};
  add_sizes(geometry, file);
  add_texts(geometry, file, request);
  add_flags(geometry, file);
  check_rules(geometry, file);
  note_what_is_not_described(geometry, file);
  add_values(geometry.values, geometry.kind.let, geometry.kind.name);
  return geometry;
}

}  // namespace ak::app
