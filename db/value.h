// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

namespace ak::db {

using Blob = std::span<const unsigned char>;

/// What a column or parameter is set to: NULL, an integer, a real, a text or bytes; an empty optional is NULL.
/// A view of what it is made from: made as the argument of the call that stores it, and not kept.
class Value {
 public:
  using Content = std::variant<std::nullptr_t, std::int64_t, double, std::string_view, Blob>;

  Value(std::nullptr_t) {}
  /// SQLite's integers are signed, of 64 bits: what does not fit is converted by the caller.
  template <std::integral T>
  requires(std::is_signed_v<T> || sizeof(T) < sizeof(std::int64_t)) Value(T value)
      : content_(static_cast<std::int64_t>(value)) {}
  Value(double value) : content_(value) {}  ///< NaN is stored as NULL, as SQLite does
  template <class T>
  requires std::convertible_to<const T&, std::string_view> Value(const T& text)
      : content_(std::string_view(text)) {}
  template <class T>
  requires std::convertible_to<const T&, Blob> Value(const T& bytes) : content_(Blob(bytes)) {}
  template <class T>
  Value(const std::optional<T>& value) : Value(value ? Value(*value) : Value(nullptr)) {}

  [[nodiscard]] const Content& content() const noexcept { return content_; }

 private:
  Content content_ = nullptr;
};

/// The value of a column, or of a parameter ":name" (without the colon).
struct NamedValue {
  std::string_view name;
  Value value;
};
using NamedValues = std::initializer_list<NamedValue>;

}  // namespace ak::db
