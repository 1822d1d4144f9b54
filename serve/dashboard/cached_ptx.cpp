// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/cached_ptx.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/build/cached_build.h"

namespace ak::dashboard {
namespace {

// Far above the largest build of a shipped kernel (1 MiB), and eight pages may be in the making at once.
constexpr std::size_t kMaxEntryBytes = std::size_t{16} << 20;

}  // namespace

std::string cached_ptx(const std::filesystem::path& folder, std::string_view build_key,
                       std::string_view symbol) {
  const auto key = runtime::BuildKey::parse(build_key);
  if (folder.empty() || symbol.empty() || !key) return "";
  const auto build = runtime::read_cached_build(folder, *key, kMaxEntryBytes);
  if (!build) return "";
  const std::string& ptx = build->ptx;
  const std::size_t entry = ptx.find(fmt::format(".entry {}(", symbol));
  if (entry == std::string::npos) return "";
  const std::size_t begin = ptx.rfind('\n', entry) + 1, end = ptx.find("\n}", entry);
  return ptx.substr(begin, std::min(end, ptx.size() - 2) + 2 - begin);
}

}  // namespace ak::dashboard
