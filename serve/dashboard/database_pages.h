// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "serve/dashboard/dashboard_server.h"
#include "serve/pages/page.h"

namespace ak::dashboard {

/// The pages of the dashboard, made of what is in a database now. Every request has a read-only connection of
/// its own, whose snapshot ends with it, so that no page keeps the log of a writer from being shortened.
class DatabasePages {
 public:
  struct Parts {
    std::filesystem::path database;
    std::filesystem::path folder = {};  ///< pages of the user's own; need not be there
    std::chrono::milliseconds time_limit{5'000};
    std::filesystem::path build_cache = {};  ///< where builds are kept whose PTX is shown; need not be there
  };
  /// Reads the pages. Throws Error(bad_input) for a mistake in one of the user's.
  explicit DatabasePages(Parts parts);

  /// A page; with "fragment" in the query only its <main>. From any thread. What is asked wrongly is 400,
  /// what is missing 404, what takes too long 503, each with a sentence.
  [[nodiscard]] PageResponse operator()(const PageRequest& request) const;

  [[nodiscard]] const std::vector<pages::Page>& pages() const { return pages_; }

 private:
  [[nodiscard]] const pages::Page* find(std::string_view path) const;
  [[nodiscard]] std::optional<PageResponse> lasting(const pages::Page& page,
                                                    const PageRequest& request) const;
  [[nodiscard]] PageResponse show(const pages::Page& page, const db::QueryValues& values,
                                  bool fragment) const;
  [[nodiscard]] PageResponse error_page(int status, std::string_view sentence, bool fragment) const;
  [[nodiscard]] std::string document(const pages::Page* page, std::string_view title,
                                     std::string_view main) const;
  [[nodiscard]] std::string navigation(const pages::Page* page) const;

  const Parts parts_;
  const std::vector<pages::Page> pages_;
  std::set<std::string, std::less<>> linked_;  ///< columns whose values are a page's parameter
};

/// The files that pages refer to.
[[nodiscard]] Assets dashboard_assets();

}  // namespace ak::dashboard
