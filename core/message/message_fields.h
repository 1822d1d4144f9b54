// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/any_number.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"

namespace ak {

/// A field of a message that another process sent: its key, and how its value gets into the message. A table of
/// them is all that is believed of such a message: what a field may not be throws JsonInputError with its path.
template <class Message>
struct Field {
  std::string_view key;
  void (*take)(const JsonReader& at, Message& message);
};

/// All fields of the table, each of which must be there; other keys are passed over.
template <class Message, std::size_t count>
[[nodiscard]] Message read_fields(const JsonReader& at, const Field<Message> (&fields)[count]) {
  Message message{};
  for (const Field<Message>& field : fields) field.take(at.member(field.key), message);
  return message;
}

/// How a field may be taken. `member` is where it goes, as a pointer to a member of the message.
namespace take {

template <class Owner, class Value>
Owner owner_of(Value Owner::*);
template <auto member>
using Owner = decltype(owner_of(member));

[[nodiscard]] inline std::string bounded_text(const JsonReader& at, std::size_t max_bytes) {
  if (!at.json().is_string()) at.fail("a string");
  const auto& text = at.json().get_ref<const std::string&>();
  if (text.size() > max_bytes)
    at.reject(fmt::format("{} bytes, where {} are allowed", text.size(), max_bytes));
  return text;
}

/// Names and other text that is compared, not shown.
template <auto member, std::size_t max_bytes>
void text(const JsonReader& at, Owner<member>& message) {
  message.*member = bounded_text(at, max_bytes);
}

/// Text for people and prompts: without control characters.
template <auto member, std::size_t max_bytes>
void words(const JsonReader& at, Owner<member>& message) {
  message.*member = sanitize(bounded_text(at, max_bytes), max_bytes);
}

template <auto member>
void severity(const JsonReader& at, Owner<member>& message) {
  message.*member = at.text();
  if (message.*member != "error" && message.*member != "warning" && message.*member != "note")
    at.fail("error, warning or note");
}

template <auto member, std::int64_t low, std::int64_t high>
void integer(const JsonReader& at, Owner<member>& message) {
  const std::int64_t value = at.integer();
  if (value < low || value > high) at.fail(fmt::format("an integer from {} to {}", low, high));
  message.*member = static_cast<std::remove_reference_t<decltype(message.*member)>>(value);
}

/// Any number of 64 bits that is not negative.
template <auto member>
void count(const JsonReader& at, Owner<member>& message) {
  if (!at.json().is_number_unsigned()) at.fail("an integer that is not negative");
  message.*member = at.json().template get<std::uint64_t>();
}

[[nodiscard]] inline double bounded_number(const JsonReader& at, double low, double high) {
  const double value = at.number();
  if (!(value >= low && value <= high)) at.fail(fmt::format("a number from {:g} to {:g}", low, high));
  return value;
}

template <auto member, std::int64_t low, std::int64_t high>
void number(const JsonReader& at, Owner<member>& message) {
  message.*member = bounded_number(at, static_cast<double>(low), static_cast<double>(high));
}

/// Also what JSON has no numbers for: "nan", "inf" and "-inf".
template <auto member>
void any_number(const JsonReader& at, Owner<member>& message) {
  message.*member = any_number_from(at);
}

template <auto member>
void flag(const JsonReader& at, Owner<member>& message) {
  message.*member = at.boolean();
}

/// A list of at most `max` values, each read by `read_one(JsonReader)`.
template <auto member, auto read_one, std::size_t max>
void list(const JsonReader& at, Owner<member>& message) {
  if (at.json().is_array() && at.json().size() > max)
    at.reject(fmt::format("{} values, where {} are allowed", at.json().size(), max));
  for (const JsonReader& item : at.items()) (message.*member).push_back(read_one(item));
}

/// For list(): one text.
template <std::size_t max_bytes>
[[nodiscard]] std::string one_text(const JsonReader& at) {
  return bounded_text(at, max_bytes);
}

}  // namespace take
}  // namespace ak
