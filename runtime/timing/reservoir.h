// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace ak::runtime {

/// Decides, item by item, which of a stream are kept so that in the end each was equally likely to be
/// (reservoir sampling, Vitter's algorithm R). What it decides says nothing about items to come.
class Reservoir {
 public:
  /// @param places at least 1
  explicit Reservoir(std::size_t places) : places_(places) {}

  /// Where the next item goes, in place of what was there; places() when it is not kept.
  template <class Random>
  [[nodiscard]] std::size_t place_next(Random& random) {
    const std::uint64_t place =
        seen_ < places_ ? seen_ : std::uniform_int_distribution<std::uint64_t>(0, seen_)(random);
    ++seen_;
    return place < places_ ? static_cast<std::size_t>(place) : places_;
  }
  [[nodiscard]] std::size_t places() const { return places_; }
  /// Items so far.
  [[nodiscard]] std::size_t seen() const { return static_cast<std::size_t>(seen_); }
  /// Items that are kept now, in the places below this.
  [[nodiscard]] std::size_t kept() const {
    return seen_ < places_ ? static_cast<std::size_t>(seen_) : places_;
  }

 private:
  std::size_t places_;
  std::uint64_t seen_ = 0;
};

}  // namespace ak::runtime
