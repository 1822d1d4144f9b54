// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/reference/reference.h"

namespace ak::runtime {

/// Results of a reference by what they were computed from; those used least recently go first. One thread.
class ResultCache {
 public:
  /// Workload, part, and what names the contents of all inputs.
  using Key = std::tuple<std::string, ReferencePart, std::uint64_t>;
  struct Results {
    ReferenceCost cost;
    std::vector<std::vector<std::byte>> outputs;  ///< in the order of the problem's
  };

  /// Null where there is none. Valid until the next put().
  [[nodiscard]] const Results* find(const Key& key);
  /// Whether results of so many bytes are small enough to be kept.
  [[nodiscard]] static bool holds(std::size_t bytes);
  void put(Key key, Results results);

 private:
  std::list<std::pair<Key, Results>> entries_;  ///< most recently used first
  std::size_t bytes_ = 0;
};

}  // namespace ak::runtime
