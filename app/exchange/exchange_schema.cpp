// SPDX-License-Identifier: Apache-2.0
#include "app/exchange/exchange_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <span>
#include <string_view>

namespace ak::app {
namespace {

constexpr std::size_t kShownFaults = 5;
constexpr std::size_t kShownBytes = 40;  // of a value

using Words = std::span<const std::string_view>;
constexpr std::array<std::string_view, 11> kDtypes{"float32",     "float16",     "bfloat16", "float8_e4m3fn",
                                                   "float8_e5m2", "float4_e2m1", "int64",    "int32",
                                                   "int16",       "int8",        "bool"};
constexpr std::array<std::string_view, 5> kLanguages{"python", "triton", "cpp", "cuda", "tilelang"};
constexpr std::array<std::string_view, 2> kBindings{"tvm-ffi", "torch"};
constexpr std::array<std::string_view, 7> kStatuses{
    "PASSED",        "INCORRECT_SHAPE", "INCORRECT_NUMERICAL", "INCORRECT_DTYPE", "RUNTIME_ERROR",
    "COMPILE_ERROR", "TIMEOUT"};

std::string shown(const Json& value) {
  if (value.is_object() || value.is_array()) return value.is_object() ? "an object" : "a list";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > kShownBytes ? text.substr(0, kShownBytes) + "..." : text;
}

/// A key as it is in a pointer.
std::string escaped(const std::string& key) {
  std::string result;
  for (const char c : key) {
    if (c == '~')
      result += "~0";
    else if (c == '/')
      result += "~1";
    else
      result += c;
  }
  return result;
}

/// A value with its place, and where faults go.
class Place {
 public:
  Place(const Json& json, std::string pointer, SchemaFaults& faults)
      : json_(&json), pointer_(std::move(pointer)), faults_(&faults) {}

  [[nodiscard]] const Json& json() const { return *json_; }
  [[nodiscard]] Place at(const std::string& key) const {
    return {(*json_)[key], pointer_ + "/" + escaped(key), *faults_};
  }
  [[nodiscard]] Place at(std::size_t index) const {
    return {(*json_)[index], fmt::format("{}/{}", pointer_, index), *faults_};
  }
  void expected(const std::string& what) const {
    print_stderr(fmt::format("expected {}, got {}", what, shown(*json_)));
  }
  void print_stderr(const std::string& message) const { faults_->push_back({pointer_, message}); }
  void missing(std::string_view key, std::string_view what) const {
    faults_->push_back({fmt::format("{}/{}", pointer_, key), fmt::format("is missing; expected {}", what)});
  }

 private:
  const Json* json_;
  std::string pointer_;
  SchemaFaults* faults_;
};

using Check = std::function<void(const Place&)>;
enum class Presence : std::uint8_t { required, optional, nullable };  ///< nullable: may be absent, or null

struct Field {
  std::string_view name;
  Presence presence;
  std::string_view what;  ///< for the message where it is missing
  Check check;
};

void check_fields(const Place& place, const std::vector<Field>& fields) {
  if (!place.json().is_object()) return place.expected("an object");
  for (const Field& field : fields) {
    const std::string name(field.name);
    if (!place.json().contains(name)) {
      if (field.presence == Presence::required) place.missing(field.name, field.what);
      continue;
    }
    if (field.presence == Presence::nullable && place.json()[name].is_null()) continue;
    field.check(place.at(name));
  }
}

void text(const Place& place) {
  if (!place.json().is_string()) place.expected("a string");
}
void filled(const Place& place) {
  if (!place.json().is_string() || place.json().get_ref<const std::string&>().empty())
    place.expected("a string that is not empty");
}
void flag(const Place& place) {
  if (!place.json().is_boolean()) place.expected("true or false");
}
void size(const Place& place) {
  // nlohmann keeps what exceeds 2^63 - 1 as unsigned; as a signed number it would be negative.
  const bool natural = place.json().is_number_integer() && place.json().get<std::int64_t>() >= 0;
  if (!natural) place.expected("an integer from 0 to 2^63 - 1");
}

/// At least 0; what JSON has no number for is a string.
Check real(bool nan) {
  return [nan](const Place& place) {
    const Json& json = place.json();
    if (json.is_number() && json.get<double>() >= 0) return;
    if (json.is_string() && (json == "Infinity" || (nan && json == "NaN"))) return;
    place.expected(nan ? "a number of at least 0, \"NaN\" or \"Infinity\""
                       : "a number of at least 0 or \"Infinity\"");
  };
}

Check one_of(Words words) {
  return [words](const Place& place) {
    const Json& json = place.json();
    const bool found =
        json.is_string() && std::ranges::find(words, json.get_ref<const std::string&>()) != words.end();
    if (!found) place.expected(fmt::format("one of {}", fmt::join(words, ", ")));
  };
}

Check list_of(const Check& element, std::size_t least) {
  return [element, least](const Place& place) {
    if (!place.json().is_array() || place.json().size() < least)
      return place.expected(least == 0 ? "a list" : "a list of at least one");
    for (std::size_t i = 0; i < place.json().size(); ++i) element(place.at(i));
  };
}

Check map_of(const Check& element) {
  return [element](const Place& place) {
    if (!place.json().is_object()) return place.expected("an object");
    for (const auto& [key, value] : place.json().items()) element(place.at(key));
  };
}

// ---- definition ----------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 2> kAxisTypes{"const", "var"};

void axis(const Place& place) {
  check_fields(place, {{"type", Presence::required, "const or var", one_of(kAxisTypes)},
                       {"description", Presence::nullable, "a string", text}});
  if (!place.json().is_object() || !place.json().contains("type") || place.json()["type"] != "const") return;
  check_fields(place, {{"value", Presence::required, "an integer of at least 0", size}});
}

void tensor(const Place& place) {
  check_fields(place, {{"shape", Presence::required, "a list of axis names, or null",
                        [](const Place& shape) {
                          if (!shape.json().is_null()) list_of(filled, 0)(shape);
                        }},
                       {"dtype", Presence::required, "an element type", one_of(kDtypes)},
                       {"description", Presence::nullable, "a string", text}});
}

/// A name at the beginning of a line after `def`.
bool has_run(const std::string& source) {
  constexpr std::string_view kRun = "def run";
  for (std::size_t at = source.find(kRun); at != std::string::npos; at = source.find(kRun, at + 1)) {
    const bool top = at == 0 || source[at - 1] == '\n';
    std::size_t end = at + kRun.size();
    while (end < source.size() && source[end] == ' ') ++end;
    if (top && end < source.size() && source[end] == '(') return true;
  }
  return false;
}

void reference(const Place& place) {
  text(place);
  if (place.json().is_string() && !has_run(place.json().get_ref<const std::string&>()))
    place.print_stderr("expected Python with a function `run` at its top level");
}

void shapes_name_axes(const Place& tensors, const Json& axes) {
  if (!tensors.json().is_object() || !axes.is_object()) return;
  for (const auto& [name, value] : tensors.json().items()) {
    if (!value.is_object() || !value.contains("shape") || !value["shape"].is_array()) continue;
    for (std::size_t i = 0; i < value["shape"].size(); ++i) {
      const Json& one = value["shape"][i];
      if (one.is_string() && !axes.contains(one.get<std::string>()))
        tensors.at(name).at("shape").at(i).print_stderr(
            fmt::format("{} is not an axis of the definition", shown(one)));
    }
  }
}

void definition(const Place& place) {
  check_fields(place, {{"name", Presence::required, "a name", filled},
                       {"op_type", Presence::required, "a kind of operation", filled},
                       {"axes", Presence::required, "axes by name", map_of(axis)},
                       {"inputs", Presence::required, "tensors by name", map_of(tensor)},
                       {"outputs", Presence::required, "tensors by name", map_of(tensor)},
                       {"reference", Presence::required, "Python with a function run", reference},
                       {"tags", Presence::optional, "a list of strings", list_of(text, 0)},
                       {"description", Presence::nullable, "a string", text},
                       {"constraints", Presence::optional, "a list of expressions", list_of(filled, 0)}});
  const Json& json = place.json();
  if (!json.is_object() || !json.contains("axes") || !json.contains("inputs") || !json.contains("outputs"))
    return;
  shapes_name_axes(place.at("inputs"), json["axes"]);
  shapes_name_axes(place.at("outputs"), json["axes"]);
  if (!json["inputs"].is_object() || !json["outputs"].is_object()) return;
  for (const auto& [name, value] : json["outputs"].items())
    if (json["inputs"].contains(name))
      place.at("outputs").at(name).print_stderr("is the name of an input, too");
}

// ---- workload ------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 3> kInputTypes{"random", "scalar", "safetensors"};

void workload_input(const Place& place) {
  check_fields(place, {{"type", Presence::required, "random, scalar or safetensors", one_of(kInputTypes)}});
  if (!place.json().is_object() || !place.json().contains("type")) return;
  if (place.json()["type"] == "scalar")
    check_fields(place, {{"value", Presence::required, "a number or a flag", [](const Place& value) {
                            if (!value.json().is_number() && !value.json().is_boolean())
                              value.expected("a number or a flag");
                          }}});
  if (place.json()["type"] == "safetensors")
    check_fields(place, {{"path", Presence::required, "a path", filled},
                         {"tensor_key", Presence::required, "a key", filled}});
}

void workload(const Place& place) {
  check_fields(place, {{"axes", Presence::required, "sizes by axis", map_of(size)},
                       {"inputs", Presence::required, "inputs by name", map_of(workload_input)},
                       {"uuid", Presence::required, "an identity", filled}});
}

// ---- solution ------------------------------------------------------------------------------------------

void path(const Place& place) {
  filled(place);
  if (!place.json().is_string()) return;
  const auto& name = place.json().get_ref<const std::string&>();
  const bool upwards = name == ".." || name.starts_with("../") || name.ends_with("/..") ||
                       name.find("/../") != std::string::npos;
  if (name.starts_with("/") || upwards || name.find('\0') != std::string::npos ||
      name.find('\\') != std::string::npos)
    place.print_stderr("expected a relative path that does not lead upwards");
}

void source(const Place& place) {
  check_fields(
      place, {{"path", Presence::required, "a path", path}, {"content", Presence::required, "a text", text}});
}

void specification(const Place& place) {
  check_fields(place, {{"language", Presence::required, "a language", one_of(kLanguages)},
                       {"target_hardware", Presence::required, "a list of at least one", list_of(filled, 1)},
                       {"entry_point", Presence::required, "file::function", filled},
                       {"dependencies", Presence::optional, "a list of strings", list_of(text, 0)},
                       {"destination_passing_style", Presence::optional, "true or false", flag},
                       {"binding", Presence::nullable, "tvm-ffi or torch", one_of(kBindings)}});
}

void sources_agree(const Place& place) {
  const Json& json = place.json();
  if (!json.is_object() || !json.contains("sources") || !json["sources"].is_array()) return;
  std::set<std::string> paths;
  for (std::size_t i = 0; i < json["sources"].size(); ++i) {
    const Json& one = json["sources"][i];
    if (!one.is_object() || !one.contains("path") || !one["path"].is_string()) continue;
    if (!paths.insert(one["path"].get<std::string>()).second)
      place.at("sources").at(i).at("path").print_stderr("is the path of another source, too");
  }
  if (!json.contains("spec") || !json["spec"].is_object() || !json["spec"].contains("entry_point")) return;
  const Json& entry = json["spec"]["entry_point"];
  if (!entry.is_string()) return;
  const auto& words = entry.get_ref<const std::string&>();
  const std::size_t colons = words.find("::");
  const bool named = colons != std::string::npos && colons > 0 && colons + 2 < words.size();
  if (!named)
    place.at("spec").at("entry_point").expected("file::function");
  else if (!paths.contains(words.substr(0, colons)))
    place.at("spec")
        .at("entry_point")
        .print_stderr(fmt::format("{} is none of the sources", words.substr(0, colons)));
}

void solution(const Place& place) {
  check_fields(place, {{"name", Presence::required, "a name", filled},
                       {"definition", Presence::required, "a definition's name", filled},
                       {"author", Presence::required, "a name", filled},
                       {"spec", Presence::required, "an object", specification},
                       {"sources", Presence::required, "a list of at least one", list_of(source, 1)},
                       {"description", Presence::nullable, "a string", text}});
  sources_agree(place);
}

// ---- trace ---------------------------------------------------------------------------------------------

void environment(const Place& place) {
  check_fields(place, {{"hardware", Presence::required, "a device's name", filled},
                       {"libs", Presence::required, "versions by library", map_of(text)}});
}

void correctness(const Place& place) {
  check_fields(place, {{"max_relative_error", Presence::required, "a number", real(true)},
                       {"max_absolute_error", Presence::required, "a number", real(true)},
                       {"extra", Presence::nullable, "an object", [](const Place& extra) {
                          if (!extra.json().is_object()) extra.expected("an object");
                        }}});
}

void performance(const Place& place) {
  check_fields(place, {{"latency_ms", Presence::required, "a number", real(false)},
                       {"reference_latency_ms", Presence::required, "a number", real(false)},
                       {"speedup_factor", Presence::required, "a number", real(false)}});
}

void present_only(const Place& place, const char* key, bool wanted) {
  const bool there = place.json().contains(key) && !place.json()[key].is_null();
  if (there == wanted) return;
  if (wanted)
    place.missing(key, fmt::format("an object, as the status is {}", shown(place.json()["status"])));
  else
    place.at(key).print_stderr(
        fmt::format("has to be null, as the status is {}", shown(place.json()["status"])));
}

void evaluation(const Place& place) {
  check_fields(place, {{"status", Presence::required, "a status", one_of(kStatuses)},
                       {"environment", Presence::required, "an object", environment},
                       {"timestamp", Presence::required, "a time", filled},
                       {"log", Presence::optional, "a string", text},
                       {"correctness", Presence::nullable, "an object", correctness},
                       {"performance", Presence::nullable, "an object", performance}});
  if (!place.json().is_object() || !place.json().contains("status")) return;
  const Json& status = place.json()["status"];
  present_only(place, "correctness", status == "PASSED" || status == "INCORRECT_NUMERICAL");
  present_only(place, "performance", status == "PASSED");
}

void trace(const Place& place) {
  check_fields(place, {{"definition", Presence::required, "a definition's name", filled},
                       {"workload", Presence::required, "an object", workload},
                       {"solution", Presence::nullable, "a solution's name", filled},
                       {"evaluation", Presence::nullable, "an object", evaluation}});
  if (!place.json().is_object()) return;
  const auto null = [&](const char* key) {
    return !place.json().contains(key) || place.json()[key].is_null();
  };
  if (null("solution") != null("evaluation"))
    place.print_stderr("expected a solution with an evaluation, or neither");
}

SchemaFaults run(void (*check)(const Place&), const Json& json) {
  SchemaFaults faults;
  check(Place(json, "", faults));
  return faults;
}

}  // namespace

SchemaFaults check_definition(const Json& json) { return run(definition, json); }
SchemaFaults check_workload(const Json& json) { return run(workload, json); }
SchemaFaults check_solution(const Json& json) { return run(solution, json); }
SchemaFaults check_trace(const Json& json) { return run(trace, json); }

SchemaFaults check_workload_of(const Json& json, const Json& definition_json) {
  SchemaFaults faults;
  for (const auto& [name, value] : definition_json["axes"].items())
    if (value["type"] == "var" && !json["axes"].contains(name))
      faults.push_back({"/axes/" + escaped(name), "is missing; expected the size of every axis that varies"});
  for (const auto& [name, value] : json["axes"].items())
    if (!definition_json["axes"].contains(name) || definition_json["axes"][name]["type"] != "var")
      faults.push_back({"/axes/" + escaped(name), "is not an axis of the definition that varies"});
  for (const auto& [name, value] : json["inputs"].items())
    if (!definition_json["inputs"].contains(name))
      faults.push_back({"/inputs/" + escaped(name), "is not an input of the definition"});
  for (const auto& [name, value] : definition_json["inputs"].items())
    if (!json["inputs"].contains(name))
      faults.push_back({"/inputs/" + escaped(name), "is missing; expected how the input is made"});
  return faults;
}

std::string faults_text(const SchemaFaults& faults) {
  std::string result;
  for (std::size_t i = 0; i < std::min(faults.size(), kShownFaults); ++i)
    result += fmt::format("{}{}: {}", i == 0 ? "" : "; ", faults[i].pointer.empty() ? "/" : faults[i].pointer,
                          faults[i].message);
  if (faults.size() > kShownFaults) result += fmt::format("; and {} more", faults.size() - kShownFaults);
  return result;
}

}  // namespace ak::app
