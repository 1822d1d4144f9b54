// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/build.h"
#include "runtime/build/build_key.h"

namespace ak::runtime {

inline constexpr std::uintmax_t kBuildCacheBytes = std::uintmax_t{4} << 30;

/// Build results on disk by their keys. Every entry carries its own hash: one that is damaged, truncated or
/// of another format counts as absent and is written again. Several processes may share a folder; the least
/// recently used entries go when it exceeds the limit. Used by one thread. Never throws: a folder that cannot
/// be written (disk full, no permission) turns the cache off, with one line on standard error.
class BuildCache {
 public:
  explicit BuildCache(std::filesystem::path folder, std::uintmax_t limit_bytes = kBuildCacheBytes);

  /// The stored result with cache_hit set, or nothing.
  [[nodiscard]] std::optional<BuildResult> find(const BuildKey& key);
  /// Keeps `result` as that of `key`, unless another attempt could end otherwise (timeout, out
  /// of memory, infrastructure).
  void store(const BuildKey& key, const BuildResult& result);
  /// Why nothing is stored any more; empty while the cache works.
  [[nodiscard]] const std::string& off_because() const { return off_because_; }

 private:
  [[nodiscard]] std::filesystem::path path_of(const BuildKey& key) const;
  void turn_off(const std::string& reason);
  void make_room();

  std::filesystem::path folder_;
  std::uintmax_t limit_bytes_;
  std::uintmax_t used_bytes_ = 0;  ///< as of the last look, plus what was written since
  int stores_since_look_ = 0;
  std::string off_because_;
};

}  // namespace ak::runtime
