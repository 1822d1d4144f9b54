// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "core/error.h"

namespace ak {

/// What was wrong with a text a person or a model wrote: where, and what was expected.
struct InputError {
  std::string message;  ///< one line, ready to be shown
  int line = 0;         ///< 1-based line in that text; 0 when not known
};

/// A value, or the reason why there is none. For parsing and other ordinary failures; asking the
/// wrong side asserts.
template <class T, class E = InputError>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] const T& value() const& { return check_value(), std::get<0>(state_); }
  [[nodiscard]] T& value() & { return check_value(), std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return check_value(), std::get<0>(std::move(state_)); }
  [[nodiscard]] const E& error() const& { return check_error(), std::get<1>(state_); }
  const T* operator->() const { return &value(); }
  const T& operator*() const& { return value(); }

 private:
  void check_value() const { AK_ASSERT(ok(), "value() of a Result that holds an error"); }
  void check_error() const { AK_ASSERT(!ok(), "error() of a Result that holds a value"); }
  std::variant<T, E> state_;
};

}  // namespace ak
