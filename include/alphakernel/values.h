// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace alphakernel {

/// A text, an integer or a truth value: of a problem's parameter, or a size of a shape.
class Scalar {
 public:
  Scalar() : value_(std::string()) {}
  Scalar(const char* text) : value_(std::string(text)) {}  // NOLINT: implicit by design
  Scalar(std::string text) : value_(std::move(text)) {}    // NOLINT: implicit by design
  Scalar(bool flag) : value_(flag) {}                      // NOLINT: implicit by design
  template <class Integer,
            class = std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>>>
  Scalar(Integer number) : value_(static_cast<std::int64_t>(number)) {}  // NOLINT: implicit by design

  const std::variant<std::string, std::int64_t, bool>& value() const { return value_; }

 private:
  std::variant<std::string, std::int64_t, bool> value_;
};

/// A value of a row of the database; the first alternative is NULL.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

/// A JSON value as text, where another page of the documentation defines its form.
struct JsonText {
  std::string text;
};

}  // namespace alphakernel
