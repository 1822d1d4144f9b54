// SPDX-License-Identifier: Apache-2.0
#include "emulator/check/async_reads.h"

#include <algorithm>

namespace ak::emulator {

std::vector<Chunk> chunks_of(std::uint32_t offset, std::uint64_t bytes) {
  std::vector<Chunk> chunks;
  for (std::uint64_t at = offset / kChunkBytes; at * kChunkBytes < offset + bytes; ++at)
    chunks.push_back(static_cast<Chunk>(at));
  return chunks;
}

void AsyncReads::start(std::uint32_t shared_bytes) {
  readers_.assign((std::size_t{shared_bytes} + kChunkBytes - 1) / kChunkBytes, 0);
  count_ = 0;
  groups_.clear();
}

void AsyncReads::begin(const AsyncReader& reader, Index op, std::uint32_t clock,
                       std::span<const Chunk> chunks) {
  std::vector<Group>& groups = groups_[reader];
  if (groups.empty()) groups.emplace_back();
  Group& open = groups.back();
  if (open.empty() || open.back().op != op || open.back().clock != clock)
    open.push_back({.op = op, .clock = clock, .chunks = {}});
  std::vector<Chunk>& known = open.back().chunks;
  for (const Chunk chunk : chunks) {
    if (chunk >= readers_.size() || count_ >= kMaxPending) continue;
    ++readers_[chunk];
    ++count_;
    known.push_back(chunk);
  }
}

void AsyncReads::commit(const AsyncReader& reader) {
  std::vector<Group>& groups = groups_[reader];
  groups.resize(groups.size() + (groups.empty() ? 2 : 1));
  // Groups are counted from the newest, so empty old ones can go.
  const auto used = std::find_if(groups.begin(), groups.end() - 1, [](const Group& g) { return !g.empty(); });
  groups.erase(groups.begin(), used);
}

std::vector<AsyncRead> AsyncReads::wait(const AsyncReader& reader, std::size_t groups_left) {
  std::vector<AsyncRead> done;
  const auto found = groups_.find(reader);
  if (found == groups_.end()) return done;
  std::vector<Group>& groups = found->second;
  while (groups.size() > groups_left + 1) {
    for (AsyncRead& read : groups.front()) {
      for (const Chunk chunk : read.chunks) --readers_[chunk];
      count_ -= read.chunks.size();
      done.push_back(std::move(read));
    }
    groups.erase(groups.begin());
  }
  return done;
}

AsyncReads::Found AsyncReads::overlapping(std::uint32_t offset, std::uint32_t bytes) const {
  const std::uint32_t first = offset / kChunkBytes;
  const std::uint32_t end = (offset + bytes + kChunkBytes - 1) / kChunkBytes;
  const auto is_written = [&](Chunk chunk) { return chunk >= first && chunk < end; };
  bool any_read = false;
  for (std::uint32_t chunk = first; chunk < end && chunk < readers_.size(); ++chunk)
    any_read = any_read || readers_[chunk] != 0;
  if (!any_read) return {};
  for (const auto& [reader, groups] : groups_) {
    for (const Group& group : groups) {
      for (const AsyncRead& read : group) {
        const auto chunk = std::find_if(read.chunks.begin(), read.chunks.end(), is_written);
        if (chunk != read.chunks.end()) return {reader, read.op, std::max(offset, *chunk * kChunkBytes)};
      }
    }
  }
  return {};
}

}  // namespace ak::emulator
