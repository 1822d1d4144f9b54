// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/text/locations.h"
#include "tools/dashboard_flags.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

/// Becomes alphakernel-dashboard, the program alongside this one; does not return if it exists.
int run_dashboard(const app::Arguments& arguments) {
  if (!dashboard_flags(arguments)) return 0;
  const std::filesystem::path program = program_file().parent_path() / "alphakernel-dashboard";
  std::string name = program.string();
  app::Arguments copies = arguments;
  std::vector<char*> argv{name.data()};
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(name.c_str(), argv.data());
  fail(ExitCode::environment, "cannot start {}: {}; it is installed next to alphakernel", name,
       std::strerror(errno));
}

}  // namespace

const Verb kDashboardVerb{"dashboard", "show the database in your browser, live", run_dashboard,
                          kRecordVerbs};

}  // namespace ak::tools
