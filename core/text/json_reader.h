// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/json.h"

namespace ak {

/// What was wrong with a JSON text, naming the field by path: "launches[0].grid[1]: expected ...". Caught by
/// the function that reads the whole text and turned into its kind of error.
class JsonInputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A place in a JSON text that a person or a model wrote, with checked access to what is below it.
/// Refers to the JSON it was made from, which must outlive it.
class JsonReader {
 public:
  explicit JsonReader(const Json& json, std::string path = "")
      : json_(&json), root_(&json), root_path_(std::move(path)) {}

  [[nodiscard]] const Json& json() const { return *json_; }
  [[nodiscard]] std::string path() const;  ///< safe to show: keys are untrusted

  /// Throws JsonInputError "<path>: expected <what>, got <value>".
  [[noreturn]] void fail(std::string_view expected) const;
  /// Throws JsonInputError "<path>: <message>".
  [[noreturn]] void reject(std::string_view message) const;

  /// The place must be an object and have no key but these; an unknown one is named with the nearest known.
  void only(std::initializer_list<std::string_view> keys) const;
  [[nodiscard]] JsonReader member(std::string_view key) const;  ///< fails when absent
  [[nodiscard]] std::optional<JsonReader> find(std::string_view key) const;
  [[nodiscard]] std::vector<std::pair<std::string, JsonReader>> members() const;  ///< of an object, in order
  [[nodiscard]] std::vector<JsonReader> items() const;                            ///< of a list

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] bool boolean() const;

 private:
  [[nodiscard]] JsonReader at(const Json& json) const;

  const Json* json_;
  // Where that is in it is looked up when somebody wants to know, which is when something is wrong.
  const Json* root_;
  std::string root_path_;
};

}  // namespace ak
