// SPDX-License-Identifier: Apache-2.0
#include "tools/dashboard_flags.h"

#include "tools/command_line.h"
#include "tools/number_options.h"

namespace ak::tools {

std::optional<DashboardFlags> dashboard_flags(const app::Arguments& arguments) {
  CLI::App app{"Show the performance database in your browser, live while searches write to it.",
               "alphakernel dashboard"};
  set_style(app,
            "Examples:\n"
            "  alphakernel dashboard --open\n"
            "  alphakernel dashboard --db all.db --port 8765\n"
            "On a GPU machine, seen from yours: run it there with --port 8765, on yours\n"
            "  ssh -L 8765:127.0.0.1:8765 gpu-machine\n"
            "and open the address that it prints. Nothing can be changed from the pages. Pages, security, "
            "and how to\n"
            "add a page of your own: docs/dashboard.md\n");
  DashboardFlags flags;
  app.add_option("--db", flags.database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  add_integer(app, "--port", {.min = 0, .max = 65'535}, into(flags.port),
              "listen on this port of 127.0.0.1; 0 = any that is free (default 0)");
  add_quantity(app, "--timeout", kSeconds, into(flags.seconds),
               "give up on a page after this many seconds (default 5)");
  app.add_option("--metrics-token", flags.metrics_token,
                 "file with a token that programs read /metrics with, for Prometheus (docs/dashboard.md)");
  app.add_flag("--open", flags.open, "open it in the browser");
  app.add_flag("--json", flags.json, "print address and port as one line of JSON");
  if (!parse(app, arguments)) return std::nullopt;
  return flags;
}

}  // namespace ak::tools
