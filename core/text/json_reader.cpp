// SPDX-License-Identifier: Apache-2.0
#include "core/text/json_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/suggest.h"

namespace ak {
namespace {

constexpr std::size_t kShownValueBytes = 60;  // enough to recognise a value, short enough for one line

std::string shown(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= kShownValueBytes ? text : sanitize(text, kShownValueBytes) + "...";
}

/// The path of `wanted` in `json`, whose own is `path`.
std::optional<std::string> path_to(const Json& wanted, const Json& json, const std::string& path) {
  if (&wanted == &json) return path;
  if (!json.is_structured()) return std::nullopt;
  std::size_t index = 0;
  for (const auto& [key, value] : json.items()) {
    const std::string name = sanitize(key, kShownValueBytes);
    const std::string below = json.is_array() ? fmt::format("{}[{}]", path, index++)
                              : path.empty()  ? name
                                              : path + "." + name;
    if (auto found = path_to(wanted, value, below)) return found;
  }
  return std::nullopt;
}

}  // namespace

void JsonReader::fail(std::string_view expected) const {
  reject(fmt::format("expected {}, got {}", expected, shown(*json_)));
}

void JsonReader::reject(std::string_view message) const {
  const std::string where = path();
  throw JsonInputError(where.empty() ? std::string(message) : fmt::format("{}: {}", where, message));
}

void JsonReader::only(std::initializer_list<std::string_view> keys) const {
  if (!json_->is_object()) fail("an object");
  const std::vector<std::string> known(keys.begin(), keys.end());
  for (const auto& [key, value] : json_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    reject(fmt::format("unknown key '{}'{}; known: {}", sanitize(key, kShownValueBytes),
                       did_you_mean(key, known), fmt::join(known, ", ")));
  }
}

std::string JsonReader::path() const { return path_to(*json_, *root_, root_path_).value_or(root_path_); }

JsonReader JsonReader::at(const Json& json) const {
  JsonReader reader = *this;
  reader.json_ = &json;
  return reader;
}

JsonReader JsonReader::member(std::string_view key) const {
  if (!json_->is_object()) fail("an object");
  const auto found = json_->find(key);
  if (found == json_->end()) reject(fmt::format("the key '{}' is missing", key));
  return at(*found);
}

std::optional<JsonReader> JsonReader::find(std::string_view key) const {
  if (!json_->is_object()) fail("an object");
  const auto found = json_->find(key);
  return found == json_->end() ? std::nullopt : std::optional(at(*found));
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  if (!json_->is_object()) fail("an object");
  std::vector<std::pair<std::string, JsonReader>> result;
  for (const auto& [key, value] : json_->items()) result.emplace_back(key, at(value));
  return result;
}

std::vector<JsonReader> JsonReader::items() const {
  if (!json_->is_array()) fail("a list");
  std::vector<JsonReader> result;
  result.reserve(json_->size());
  for (const Json& item : *json_) result.push_back(at(item));
  return result;
}

std::string JsonReader::text() const {
  if (!json_->is_string()) fail("a string");
  return json_->get<std::string>();
}

std::int64_t JsonReader::integer() const {
  if (!json_->is_number_integer()) fail("an integer");
  if (json_->is_number_unsigned() && json_->get<std::uint64_t>() > INT64_MAX) fail("an integer of 64 bits");
  return json_->get<std::int64_t>();
}

double JsonReader::number() const {
  if (!json_->is_number()) fail("a number");
  return json_->get<double>();
}

bool JsonReader::boolean() const {
  if (!json_->is_boolean()) fail("true or false");
  return json_->get<bool>();
}

}  // namespace ak
