// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/result_cache.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace ak::runtime {
namespace {

// The workloads of the CPU device and their distributions fit many times over; results of a large one are cheaper to
// compute again than to hold (chosen).
constexpr std::size_t kCacheBytes = std::size_t{256} << 20, kMaxEntryBytes = std::size_t{8} << 20;

std::size_t bytes_of(const ResultCache::Results& results) {
  std::size_t bytes = 0;
  for (const auto& output : results.outputs) bytes += output.size();
  return bytes;
}

}  // namespace

bool ResultCache::holds(std::size_t bytes) { return bytes <= kMaxEntryBytes; }

const ResultCache::Results* ResultCache::find(const Key& key) {
  const auto found = std::ranges::find(entries_, key, &std::pair<Key, Results>::first);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return &entries_.front().second;
}

void ResultCache::put(Key key, Results results) {
  const std::size_t bytes = bytes_of(results);
  AK_ASSERT(holds(bytes), "large results are not kept");
  entries_.emplace_front(std::move(key), std::move(results));
  bytes_ += bytes;
  while (bytes_ > kCacheBytes) {
    bytes_ -= bytes_of(entries_.back().second);
    entries_.pop_back();
  }
}

}  // namespace ak::runtime
