// SPDX-License-Identifier: Apache-2.0
#include "app/operations/page_length.h"

#include "core/text/suggest.h"

namespace ak::operations {
namespace {

// A page of one launch takes some 4 kB; of many launches or shapes the first ones say most.
constexpr std::size_t kMaxBriefBytes = 12'000;

}  // namespace

std::string PageLength::shown(const std::string& text) const {
  if (whole || text.size() <= kMaxBriefBytes) return sanitize(text, text.size());
  return sanitize(text, kMaxBriefBytes) + "\n[cut; the same with detail: full shows all]";
}

PageLength page_length(const Json& request) { return {.whole = request.at("detail") == "full"}; }

}  // namespace ak::operations
