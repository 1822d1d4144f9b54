// SPDX-License-Identifier: Apache-2.0
#include "tools/manual/reference_pages.h"

namespace ak::tools {

std::string table_cell(const std::string& text) {
  std::string cell;
  bool in_code = false;  // where an entity would be shown as it is written
  for (const char c : text) {
    if (c == '`') in_code = !in_code;
    if (c == '|')
      cell += "\\|";
    else if (c == '<' && !in_code)
      cell += "&lt;";
    else
      cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

std::map<std::string, std::string> reference_pages() {
  return {{"exit_codes.md", exit_code_page()},
          {"reference/cli.md", cli_page(describe_program())},
          {"reference/schema.md", schema_page()}};
}

}  // namespace ak::tools
