// SPDX-License-Identifier: Apache-2.0
#include "tools/former_names.h"

#include <algorithm>
#include <string_view>

namespace ak::tools {

std::vector<std::string> with_present_names(const db::NamedQuery& query, std::vector<std::string> given) {
  constexpr std::string_view kFormer = "session=";
  const auto has = [&](std::string_view name) {
    return std::ranges::find(query.parameters, name, &db::QueryParameter::name) != query.parameters.end();
  };
  for (std::string& value : given) {
    if (value == "by=session" && has("by"))
      value = "by=search";
    else if (value.starts_with(kFormer) && has("search") && !has("session"))
      value = "search=" + value.substr(kFormer.size());
    else
      continue;
    print_stderr("note: a session is called a search now: {}\n", value);
  }
  return given;
}

}  // namespace ak::tools
