// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "serve/pages/page.h"
#include "serve/pages/report/period.h"

namespace ak::pages {

/// A section with its rows.
struct ReportSection {
  Page page;
  PageData data;
};

/// What happened in a period, read in one state of the database.
struct Report {
  Period period;
  std::vector<ReportSection> sections;
  ReportSection brief;  ///< what report_brief_text() says
};

/// What a report is made of.
struct ReportRequest {
  std::filesystem::path database;
  Period period;
  std::vector<std::int64_t> searches;  ///< only these; empty: all of the period
  std::filesystem::path own_sections;  ///< a folder of further ones; may be empty or absent
  std::chrono::milliseconds time_limit{60'000};
};

/// Reads all sections. Their SQL sees the table `report_searches(id)`, the searches that the report speaks
/// of, and the parameters :since, :until. Throws Error(usage) for a search that is missing,
/// Error(bad_input) for a mistake in a section, Error(database).
[[nodiscard]] Report read_report(const ReportRequest& request);

[[nodiscard]] std::string report_html(const Report& report);      ///< one self-contained file
[[nodiscard]] std::string report_markdown(const Report& report);  ///< GitHub's
/// A few lines of plain text for a chat: what ran, the kernels by speed-up, what went wrong. Nothing in it is markup or
/// calls anyone there.
[[nodiscard]] std::string report_brief_text(const Report& report);
[[nodiscard]] std::string report_json(const Report& report);
/// Every table as CSV, by file name ("results.leaders.csv").
[[nodiscard]] std::map<std::string, std::string> report_csv(const Report& report);

}  // namespace ak::pages
