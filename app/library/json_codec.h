// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <alphakernel/values.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/text/json.h"
#include "core/text/json_line.h"

namespace ak::library {

// The structs of include/alphakernel/operations.h as JSON, and back. A struct shows its members by visit().

template <class T>
concept Visitable = requires(T& value) {
  T::visit(value, [](const char*, auto&) {});
};

inline Json encode(const alphakernel::Scalar& scalar) {
  return std::visit([](const auto& held) { return Json(held); }, scalar.value());
}
inline Json encode(const std::string& text) { return text; }
inline Json encode(std::int64_t number) { return number; }
inline Json encode(double number) { return number; }
inline Json encode(bool flag) { return flag; }

template <class T>
Json encode(const std::map<std::string, T>& table) {
  Json json = Json::object();
  for (const auto& [name, value] : table) json[name] = encode(value);
  return json;
}

template <class T>
bool is_given(const T&) {
  return true;
}
template <class T>
bool is_given(const std::optional<T>& value) {
  return value.has_value();
}
template <class T>
bool is_given(const std::map<std::string, T>& table) {
  return !table.empty();
}

template <class T>
Json encode(const std::optional<T>& value) {
  return encode(*value);
}

/// A request; members that are not given are left out.
template <Visitable T>
Json encode(const T& request) {
  Json json = Json::object();
  T::visit(request, [&](const char* name, const auto& member) {
    if (is_given(member)) json[name] = encode(member);
  });
  return json;
}

inline void decode(const Json& json, std::string& text) { text = json.get<std::string>(); }
inline void decode(const Json& json, std::int64_t& number) { number = json.get<std::int64_t>(); }
inline void decode(const Json& json, bool& flag) { flag = json.get<bool>(); }
/// JSON has numbers that are not finite as text: "inf".
inline void decode(const Json& json, double& number) {
  number = json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr) : json.get<double>();
}
inline void decode(const Json& json, alphakernel::JsonText& value) { value.text = one_line(json); }

inline void decode(const Json& json, alphakernel::Scalar& scalar) {
  if (json.is_boolean()) scalar = json.get<bool>();
  if (json.is_number_integer()) scalar = json.get<std::int64_t>();
  if (json.is_string()) scalar = json.get<std::string>();
}

inline void decode(const Json& json, alphakernel::Cell& cell) {
  if (json.is_number_integer()) cell = json.get<std::int64_t>();
  if (json.is_number_float()) cell = json.get<double>();
  if (json.is_string()) cell = json.get<std::string>();
}

// Declared before any is defined: objects hold lists, which hold objects.
template <class T>
void decode(const Json& json, std::map<std::string, T>& table);
template <class T>
void decode(const Json& json, std::vector<T>& list);
template <class T>
void decode(const Json& json, std::optional<T>& value);
template <Visitable T>
void decode(const Json& json, T& answer);

template <class T>
void decode(const Json& json, std::map<std::string, T>& table) {
  for (const auto& [name, value] : json.items()) decode(value, table[name]);
}

template <class T>
void decode(const Json& json, std::vector<T>& list) {
  for (const Json& item : json) decode(item, list.emplace_back());
}

template <class T>
void decode(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) decode(json, value.emplace());
}

template <Visitable T>
void decode(const Json& json, T& answer) {
  T::visit(answer, [&](const char* name, auto& member) {
    if (const auto found = json.find(name); found != json.end()) decode(*found, member);
  });
}

}  // namespace ak::library
