// SPDX-License-Identifier: Apache-2.0
// The program that `alphakernel dashboard` becomes. It is one of its own so that nothing else, workers that
// run candidates least of all, holds an HTTP server.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/setup/config.h"
#include "app/setup/interrupt.h"
#include "app/setup/program_paths.h"
#include "core/text/json.h"
#include "core/text/print_stderr.h"
#include "core/time_limit.h"
#include "db/read/reader.h"
#include "runtime/fleet/token_file.h"
#include "serve/dashboard/dashboard_server.h"
#include "serve/dashboard/database_pages.h"
#include "serve/dashboard/database_watch.h"
#include "serve/pages/html_document.h"
#include "tools/dashboard_flags.h"
#include "tools/guarded_main.h"
#include "tools/shown_stdout.h"

namespace ak::tools {
namespace {

constexpr std::chrono::milliseconds kWatchInterval{1'000};

std::filesystem::path build_cache(const app::Config& config) {
  return config.cache.empty() ? app::default_cache_dir() : std::filesystem::path(config.cache);
}

std::filesystem::path own_pages() {
  const std::filesystem::path config = app::config_path();
  return config.empty() ? config : config.parent_path() / "dashboard";
}

/// Opens the address with the desktop's browser. Nothing is lost where there is none: the address is printed.
void open_browser(const std::string& url) {
  std::string program = "xdg-open", address = url;
  char* const argv[] = {program.data(), address.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int result = posix_spawnp(&child, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (result != 0 || waitpid(child, &status, 0) != child || status != 0)
    print_stderr("note: no browser could be started with xdg-open: open the address yourself\n");
}

void announce(const dashboard::DashboardService& service, const std::filesystem::path& database,
              std::uint16_t port, bool json) {
  if (json)
    fmt::print("{}\n", Json{{"url", service.url()}, {"port", port}, {"database", database.string()}}.dump());
  else
    fmt::print(
        "{}\n\nThe dashboard of {}.\nOnly who has this address sees it, and only on this machine. Ctrl-C "
        "ends it.\n",
        service.url(), database.string());
  std::fflush(stdout);
}

int serve_dashboard(const app::Arguments& arguments) {
  show_stdout();
  const auto flags = dashboard_flags(arguments);
  if (!flags) return 0;

  const app::Config config = app::load_config();
  const std::filesystem::path file = app::database_file(flags->database, config);
  const std::chrono::milliseconds most = time_limit(flags->seconds);
  // Says now what would be wrong with every page.
  static_cast<void>(db::query(file, "SELECT count(*) FROM searches", 1, most));
  const dashboard::DatabasePages pages(
      {.database = file, .folder = own_pages(), .time_limit = most, .build_cache = build_cache(config)});
  dashboard::DashboardService service({.pages = std::cref(pages),
                                       .assets = dashboard::dashboard_assets(),
                                       .style_sources = pages::plot_style_hashes(),
                                       .token = dashboard::random_token(),
                                       .metrics_token = flags->metrics_token.empty()
                                                            ? std::string()
                                                            : runtime::read_token(flags->metrics_token)});
  const app::InterruptGuard interrupt;
  dashboard::HttpServer server(service, flags->port);
  service.set_port(server.port());
  announce(service, file, server.port(), flags->json);
  if (flags->open) open_browser(service.url());
  {
    const dashboard::DatabaseWatch watch(file, kWatchInterval, [&](std::int64_t revision) {
      server.broadcast(dashboard::change_event(revision));
    });
    server.run(interrupt.requested());
  }
  if (!flags->json) print_stderr("The dashboard has ended.\n");
  return 0;
}

}  // namespace
}  // namespace ak::tools

int main(int argc, char** argv) {
  return ak::tools::guarded_main(
      [&] { return ak::tools::serve_dashboard(ak::app::Arguments(argv + 1, argv + argc)); });
}
