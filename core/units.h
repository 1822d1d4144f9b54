// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

namespace ak {

/// A number that knows what it counts, so that numbers of different kinds cannot be mixed. `Kind` is only a name.
/// Floors, predictions and bandwidths are such numbers. What is stored or sent sample by sample (Measurement, records of
/// the database, JSON) is a plain number whose name ends with its unit.
template <class Kind>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}
  [[nodiscard]] constexpr double value() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }

 private:
  double value_ = 0;
};

using Nanoseconds = Quantity<struct NanosecondKind>;
using Bytes = Quantity<struct ByteKind>;
using Operations = Quantity<struct OperationKind>;
/// A part or a multiple of something.
using Ratio = Quantity<struct RatioKind>;

/// So much of a kind in a nanosecond: bytes in a nanosecond are GB/s.
template <class Kind>
class Rate {
 public:
  constexpr explicit Rate(double per_nanosecond) : per_nanosecond_(per_nanosecond) {}
  [[nodiscard]] constexpr double per_nanosecond() const { return per_nanosecond_; }
  /// Nothing is known, or nothing comes through.
  [[nodiscard]] constexpr bool none() const { return !(per_nanosecond_ > 0); }

 private:
  double per_nanosecond_;
};

using Bandwidth = Rate<struct ByteKind>;
using Throughput = Rate<struct OperationKind>;

/// The time that an amount takes at a rate that is not none().
template <class Kind>
[[nodiscard]] constexpr Nanoseconds operator/(Quantity<Kind> amount, Rate<Kind> rate) {
  return Nanoseconds(amount.value() / rate.per_nanosecond());
}

template <class Kind>
[[nodiscard]] constexpr Ratio operator/(Quantity<Kind> a, Quantity<Kind> b) {
  return Ratio(a.value() / b.value());
}

/// So much of it.
template <class Kind>
[[nodiscard]] constexpr Quantity<Kind> operator*(Ratio part, Quantity<Kind> whole) {
  return Quantity<Kind>(part.value() * whole.value());
}

}  // namespace ak
