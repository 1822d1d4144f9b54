// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/build_cache.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"
#include "runtime/build/cached_build.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

// Part of every entry: a change of its layout or of BuildResult's JSON gets a new number, which makes old entries
// count as absent. Behind it are the hash of what follows the first line, and how many bytes of it are JSON and PTX;
// the rest is the cubin. Programs are no JSON there, since reading that takes fifty times as long.
constexpr std::string_view kFormat = "alphakernel-build-2 ";
constexpr std::size_t kHashLength = 64;
constexpr std::size_t kMaxFirstLine = 256;
constexpr std::size_t kEntryLimitBytes = std::size_t{256} << 20;
// Another process may write to the same folder: look again after this many stores even when all seems well.
constexpr int kStoresPerLook = 256;

bool is_final(Status status) {
  constexpr std::array kFinal{Status::ok, Status::compile_error, Status::resource_exceeded,
                              Status::invalid_candidate, Status::unsupported};
  return std::ranges::find(kFinal, status) != kFinal.end();
}

std::string to_entry(const BuildResult& result) {
  BuildResult facts = result;
  facts.ptx.clear();
  facts.cubin.clear();
  std::string payload = to_json(facts).dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::size_t json_bytes = payload.size();
  payload.append(result.ptx).append(result.cubin);
  return fmt::format("{}{} {} {}\n", kFormat, sha256_hex(payload), json_bytes, result.ptx.size()) + payload;
}

/// The number behind a blank; nothing where there is none.
std::optional<std::size_t> take_number(std::string_view& line) {
  if (!line.starts_with(' ')) return std::nullopt;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(line.data() + 1, line.data() + line.size(), number);
  if (error != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return number;
}

std::optional<BuildResult> from_entry(std::string_view entry, const BuildKey& key) {
  const std::size_t end = entry.substr(0, kMaxFirstLine).find('\n');
  if (end == std::string_view::npos || end < kFormat.size() + kHashLength || !entry.starts_with(kFormat))
    return std::nullopt;
  const std::string_view payload = entry.substr(end + 1);
  std::string_view sizes = entry.substr(0, end).substr(kFormat.size() + kHashLength);
  const auto json_bytes = take_number(sizes), ptx_bytes = take_number(sizes);
  if (!json_bytes || !ptx_bytes || !sizes.empty() || *json_bytes > payload.size() ||
      *ptx_bytes > payload.size() - *json_bytes ||
      entry.substr(kFormat.size(), kHashLength) != sha256_hex(payload))
    return std::nullopt;
  auto result = build_result_from_json(parse_json(payload.substr(0, *json_bytes)));
  if (result.key != key.text()) return std::nullopt;
  result.ptx = payload.substr(*json_bytes, *ptx_bytes);
  result.cubin = payload.substr(*json_bytes + *ptx_bytes);
  return result;
}

fs::path entry_path(const fs::path& folder, const BuildKey& key) {
  return folder / key.text().substr(0, 2) / (key.text() + ".json");
}

struct Entry {
  fs::file_time_type used;
  std::uintmax_t bytes;
  fs::path path;
};

std::vector<Entry> list_entries(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code vanished;  // another process may evict at the same time
    const bool is_file = at->is_regular_file(vanished);
    Entry entry{at->last_write_time(vanished), at->file_size(vanished), at->path()};
    if (is_file && !vanished) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

BuildCache::BuildCache(fs::path folder, std::uintmax_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) turn_off(error.message());
  if (off_because_.empty()) make_room();
}

std::optional<BuildResult> read_cached_build(const fs::path& folder, const BuildKey& key,
                                             std::size_t limit_bytes) {
  const fs::path path = entry_path(folder, key);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  try {
    return from_entry(read_file(path, limit_bytes), key);
  } catch (const std::exception&) {
    return std::nullopt;  // evicted meanwhile, unreadable, or not ours: built again
  }
}

fs::path BuildCache::path_of(const BuildKey& key) const { return entry_path(folder_, key); }

std::optional<BuildResult> BuildCache::find(const BuildKey& key) {
  auto result = read_cached_build(folder_, key, kEntryLimitBytes);
  if (!result) return std::nullopt;
  std::error_code error;
  fs::last_write_time(path_of(key), fs::file_time_type::clock::now(), error);  // recently used
  result->cache_hit = true;
  return result;
}

void BuildCache::store(const BuildKey& key, const BuildResult& result) {
  if (!off_because_.empty() || !is_final(result.outcome.status)) return;
  const fs::path path = path_of(key);
  try {
    const std::string entry = to_entry(result);
    fs::create_directories(path.parent_path());
    write_file_atomically(path, entry);
    used_bytes_ += entry.size();
  } catch (const std::exception& error) {
    return turn_off(error.what());
  }
  if (used_bytes_ > limit_bytes_ || ++stores_since_look_ >= kStoresPerLook) make_room();
}

void BuildCache::turn_off(const std::string& reason) {
  off_because_ = reason;
  std::fprintf(stderr, "alphakernel: builds are no longer cached in %s: %s\n", folder_.c_str(),
               reason.c_str());
}

void BuildCache::make_room() {
  auto entries = list_entries(folder_);
  stores_since_look_ = 0;
  used_bytes_ = 0;
  for (const auto& entry : entries) used_bytes_ += entry.bytes;
  if (used_bytes_ <= limit_bytes_) return;
  std::ranges::sort(entries, {}, &Entry::used);
  // A tenth more than needed, so that a full cache is not walked at every store.
  const std::uintmax_t target = limit_bytes_ / 10 * 9;
  for (const auto& entry : entries) {
    if (used_bytes_ <= target) return;
    std::error_code error;
    fs::remove(entry.path, error);
    used_bytes_ -= entry.bytes;
  }
}

}  // namespace ak::runtime
