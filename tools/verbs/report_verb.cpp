// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/print_stderr.h"
#include "core/text/suggest.h"
#include "core/time_limit.h"
#include "serve/pages/report/report.h"
#include "tools/command_line.h"
#include "tools/former_names.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr std::array<std::string_view, 5> kReportFormats{"html", "markdown", "brief", "json", "csv"};

/// The format that was asked for, else the one that the file's name says, else Markdown.
std::string chosen_format(const std::string& given, const std::filesystem::path& output) {
  if (given.empty()) {
    const std::string extension = output.extension().string();
    return extension == ".html"   ? "html"
           : extension == ".json" ? "json"
           : extension == ".csv"  ? "csv"
                                  : "markdown";
  }
  const std::vector<std::string> names(kReportFormats.begin(), kReportFormats.end());
  if (std::ranges::find(names, given) == names.end())
    fail(ExitCode::usage, "unknown format '{}'{}; expected {}", given, did_you_mean(given, names),
         fmt::join(names, ", "));
  return given;
}

pages::Period chosen_period(const std::string& week, const std::string& since, const std::string& until,
                            bool searches) {
  const auto now = std::chrono::system_clock::now();
  if (!week.empty() && (!since.empty() || !until.empty()))
    fail(ExitCode::usage, "--week says both ends: expected no --since or --until with it");
  if (!week.empty()) return pages::week_period(week);
  if (!since.empty() || !until.empty()) return pages::date_period(since, until, now);
  if (!searches) return pages::last_seven_days(now);
  pages::Period period = pages::date_period("", "", now);
  period.title = "chosen searches";
  return period;
}

/// CSV goes to a folder, a file a table, or all in one to standard output.
void write_csv(const pages::Report& report, const std::string& output) {
  std::error_code error;
  if (!output.empty()) std::filesystem::create_directories(output, error);
  if (error) fail(ExitCode::output, "cannot make the folder {}: {}", output, error.message());
  for (const auto& [name, text] : pages::report_csv(report)) {
    if (output.empty())
      fmt::print("# {}\n{}\n", name, text);
    else
      write_file_atomically(std::filesystem::path(output) / name, text);
  }
}

void write_text(const std::string& text, const std::string& output) {
  if (output.empty())
    fmt::print("{}", text);
  else
    write_file_atomically(output, text);
}

struct ReportFlags {
  std::string database, output, format, week, since, until;
  std::vector<std::int64_t> searches;
  double seconds = 60;
};

void add_report_flags(CLI::App& app, ReportFlags& flags) {
  app.add_option("--week", flags.week, "an ISO week, Monday to Sunday, like 2026-W47");
  app.add_option("--since", flags.since, "searches that began on this day or at this time, or later");
  app.add_option("--until", flags.until, "searches that began on this day or before it, or before this time");
  const auto add_search = [&flags](std::int64_t search) { flags.searches.push_back(search); };
  add_integers(app, "--search", kAnyNumber, add_search, "only these searches, by their numbers");
  add_former_number(app, "--session", "--search", add_search);
  app.add_option("--format,-f", flags.format,
                 "html, markdown, brief (a few lines for a chat), json or csv (default: by the file's name, "
                 "else markdown)");
  app.add_option("--output,-o", flags.output, "file to write (of csv: a folder) instead of standard output");
  app.add_option("--db", flags.database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  add_quantity(app, "--timeout", kSeconds, into(flags.seconds),
               "give up after this many seconds (default 60)");
}

pages::ReportRequest report_request(const ReportFlags& flags) {
  const std::filesystem::path config = app::config_path();
  return {.database = app::database_file(flags.database, app::load_config()),
          .period = chosen_period(flags.week, flags.since, flags.until, !flags.searches.empty()),
          .searches = flags.searches,
          .own_sections = config.empty() ? config : config.parent_path() / "report",
          .time_limit = time_limit(flags.seconds)};
}

std::string formatted(const pages::Report& report, const std::string& format) {
  if (format == "html") return pages::report_html(report);
  if (format == "json") return pages::report_json(report);
  return format == "brief" ? pages::report_brief_text(report) : pages::report_markdown(report);
}

int run_report(const app::Arguments& arguments) {
  CLI::App app{
      "A report of a week, of any period or of chosen searches: results, learning, plans, spend, trust.",
      "alphakernel report"};
  set_style(app,
            "Without a period: the last seven days. Times are UTC.\n\n"
            "Examples:\n"
            "  alphakernel report --week 2026-W47 --output week.html\n"
            "  alphakernel report --since 2026-11-01 --until 2026-11-15 --format markdown\n"
            "  alphakernel report --search 12 --search 13 --output two.html\n"
            "  alphakernel report --format brief\n"
            "  alphakernel report --format csv --output tables/\n"
            "Sections, and how to add your own: docs/report.md\n");
  ReportFlags flags;
  add_report_flags(app, flags);
  if (!parse(app, arguments)) return 0;
  const pages::ReportRequest request = report_request(flags);
  const std::string format = chosen_format(flags.format, flags.output);
  const pages::Report report = pages::read_report(request);
  if (format == "csv")
    write_csv(report, flags.output);
  else
    write_text(formatted(report, format), flags.output);
  if (!flags.output.empty()) print_stderr("wrote {}\n", flags.output);
  return 0;
}

}  // namespace

const Verb kReportVerb{"report", "a report of a week or any period, as HTML, Markdown, JSON or CSV",
                       run_report, kRecordVerbs};

}  // namespace ak::tools
