// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "app/evaluate/figure_texts.h"
#include "app/kernel_library/library_check.h"
#include "db/database.h"

namespace ak::app {
namespace {

constexpr double kNsPerMicrosecond = 1e3;

std::string known_time(double us) { return us > 0 ? format_ns(us * kNsPerMicrosecond) : "-"; }

/// "1.012", or "-" where there is no such comparison; of several the largest.
std::string ratio_text(const CheckedShape& row, Against against) {
  double largest = 0;
  for (const ShapeChange& change : row.changes)
    if (change.against == against) largest = std::max(largest, change.ratio);
  return largest > 0 ? fmt::format("{:.3f}", largest) : "-";
}

std::string then_text(const CheckedShape& row) {
  const std::string turns = ratio_text(row, Against::then);
  return turns == "-" ? ratio_text(row, Against::cost) : turns;
}

std::string driver_text(int driver) {
  return driver > 0 ? fmt::format(", driver of CUDA {}.{}", driver / 1000, driver % 1000 / 10) : "";
}

Json changes_json(const std::vector<ShapeChange>& changes) {
  Json list = Json::array();
  for (const ShapeChange& change : changes)
    list.push_back({{"against", against_name(change.against)},
                    {"label", change.label},
                    {"ratio", change.ratio},
                    {"deviation", change.change.deviation},
                    {"p", p_of_chance(change.change)},
                    {"suspect", change.suspect},
                    {"named", change.named}});
  return list;
}

Json known_json(double value) { return value > 0 ? Json(value) : Json(nullptr); }

}  // namespace

std::string library_check_text(const LibraryCheck& check) {
  db::Table table{.columns = {"operator", "shape", "member", "packed", "now", "/ image", "/ then",
                              "PyTorch / it", "verdict"},
                  .rows = {}};
  for (const CheckedShape& row : check.shapes)
    table.rows.push_back({row.name, row.shape, row.member > 0 ? fmt::format("{}", row.member) : "-",
                          known_time(row.stored_us), known_time(row.now_us), ratio_text(row, Against::image),
                          then_text(row), row.pytorch > 0 ? fmt::format("{:.2f}", row.pytorch) : "-",
                          std::string(verdict_name(row.verdict))});
  std::string text = fmt::format("{} on {}{}\n{}", check.package.name, check.device,
                                 driver_text(check.driver), db::render(table, db::TableFormat::table));
  for (const CheckedShape& row : check.shapes)
    if (row.regressed())
      text += fmt::format("{}{}{}: {}\n", row.name, row.shape.empty() ? "" : " on ", row.shape, row.reason);
  for (const std::string& note : check.notes) text += fmt::format("note: {}\n", note);
  const std::vector<std::string> names = check.regressed();
  return text + (names.empty() ? fmt::format("no regression in {} comparisons\n", check.comparisons)
                               : fmt::format("regressions: {}\n", fmt::join(names, ", ")));
}

Json library_check_json(const LibraryCheck& check) {
  Json shapes = Json::array();
  for (const CheckedShape& row : check.shapes)
    shapes.push_back({{"operator", row.name},
                      {"shape", row.shape},
                      {"member", row.member > 0 ? Json(row.member) : Json(nullptr)},
                      {"stored_us", known_json(row.stored_us)},
                      {"now_us", known_json(row.now_us)},
                      {"speedup_vs_pytorch", known_json(row.pytorch)},
                      {"verdict", verdict_name(row.verdict)},
                      {"reason", row.reason},
                      {"comparisons", changes_json(row.changes)}});
  return {{"format", "alphakernel.library_check"},
          {"version", 1},
          {"package", check.package.name},
          {"folder", check.package.folder.string()},
          {"device", check.device},
          {"driver", check.driver},
          {"comparisons", check.comparisons},
          {"regressed", check.regressed()},
          {"shapes", std::move(shapes)},
          {"notes", check.notes}};
}

}  // namespace ak::app
