// SPDX-License-Identifier: Apache-2.0
#include "tools/former_names.h"

#include <algorithm>
#include <string_view>

#include "core/text/print_stderr.h"

namespace ak::tools {

void add_former_number(CLI::App& app, const std::string& former, const std::string& now, SetInteger set) {
  add_integers(
      app, former, kAnyNumber,
      [former, now, set = std::move(set)](std::int64_t given) {
        print_stderr("note: {} is called {} now\n", former, now);
        set(given);
      },
      "")
      ->group("");
}

void add_former_flag(CLI::App& app, const std::string& former, const std::string& whole, bool& set) {
  app.add_flag_callback(former,
                        [former, whole, &set] {
                          print_stderr("note: {} is one half of {} now\n", former, whole);
                          set = true;
                        })
      ->group("");
}

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
