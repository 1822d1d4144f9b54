// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/tool_main.h"

#include <fmt/format.h>

#include <exception>

#include "core/error.h"
#include "core/text/file_checks.h"
#include "core/text/json_line.h"
#include "core/text/print_stderr.h"

namespace ak::mcp {
namespace {

/// A kernel's text is more than a note has room for.
void note_event(std::string_view event, Json data) {
  data.erase("source");
  print_stderr("{} {}\n", event, one_line(data));
}

}  // namespace

int tool_main(const std::string& name, const operations::Context& context) {
  Json written;
  try {
    const ToolAnswer answer =
        operations::call(operations::operation_named(name), try_parse_json(read_standard_input()), context,
                         {.on_event = note_event});
    written = {{"content", answer.content}, {"failed", answer.failed}};
  } catch (const Error& error) {
    written = {{"error", error.what()}};
  } catch (const std::exception& error) {
    written = {{"error", error.what()}};
  }
  fmt::print("{}\n", one_line(written));
  return 0;
}

}  // namespace ak::mcp
