// SPDX-License-Identifier: Apache-2.0
#include "tools/json_answers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

namespace ak::tools {
namespace {

constexpr std::string_view kMaintenance =
    "what was done to whole files, which is for their owner and not for agents";
constexpr std::string_view kModelFigures = "figures of fitted models, for those who fit them";

constexpr std::array kRows{
    JsonAnswer{"alphakernel evaluate", "evaluate"},
    JsonAnswer{"alphakernel profile", "profile"},
    JsonAnswer{"alphakernel explain", "explain"},
    JsonAnswer{"alphakernel compare", "compare compare_subjects"},
    JsonAnswer{"alphakernel baselines", "time_baselines"},
    JsonAnswer{"alphakernel predict", "predict"},
    JsonAnswer{"alphakernel occupancy", "occupancy"},
    JsonAnswer{"alphakernel export", "export_kernel"},
    JsonAnswer{"alphakernel best lookup", "look_up_best"},
    JsonAnswer{"alphakernel best front", "", "the variants of the front (docs/precision.md)"},
    JsonAnswer{"alphakernel knowledge", "list_insights"},
    JsonAnswer{"alphakernel algorithms", "list_problems show_problem"},
    JsonAnswer{"alphakernel experiment list", "list_experiments"},
    JsonAnswer{"alphakernel doctor", "examine_machine"},
    JsonAnswer{"alphakernel devices", "show_devices"},
    JsonAnswer{"alphakernel devices show", "show_devices"},
    JsonAnswer{"alphakernel session status", "session_status"},
    JsonAnswer{"alphakernel library plan", "",
               "the plan that programs build a library from (docs/kernel_library.md)"},
    JsonAnswer{"alphakernel generate", "", "the file k.result.json that it writes (docs/result_json.md)"},
    JsonAnswer{"alphakernel tune", "", "the file k.result.json that it writes (docs/result_json.md)"},
    JsonAnswer{"alphakernel session start", "",
               "number and log of the session alone, as `start_session` is made of this command"},
    JsonAnswer{"alphakernel experiment run", "", "the file report.json that it writes (docs/experiments.md)"},
    JsonAnswer{"alphakernel board show", "", "what a folder knows of many searches (docs/boards.md)"},
    JsonAnswer{"alphakernel library build", "",
               "the file library.json that it writes (docs/kernel_library.md)"},
    JsonAnswer{"alphakernel library check", "", "every shape with its verdict (docs/kernel_library.md)"},
    JsonAnswer{"alphakernel query", "", "the table as an array of objects, one of four forms"},
    JsonAnswer{"alphakernel dashboard", "", "address and port, of a program that runs on"},
    JsonAnswer{"alphakernel operations", "", "the table of operations itself"},
    JsonAnswer{"alphakernel mailbox list", "", "questions and faults of a folder that no database knows"},
    JsonAnswer{"alphakernel mailbox check", "",
               "what `evaluate` prints for each candidate of an answer, which is no kernel yet"},
    JsonAnswer{"alphakernel algorithms audit", "",
               "every deliberate mistake with its verdict, for those who write problems (docs/checking.md)"},
    JsonAnswer{"alphakernel problem new", "",
               "what was made of a PyTorch file or a description; `new_problem` makes problems of kernels"},
    JsonAnswer{"alphakernel problem judge", "",
               "what the checks find in a draft, which a person confirms and no agent (docs/problem.md)"},
    JsonAnswer{"alphakernel selfcheck", "",
               "every cheat with its verdict, for those who change the checks (docs/trust.md)"},
    JsonAnswer{"alphakernel simulate", "", "curves of strategies on recorded spaces (docs/search.md)"},
    JsonAnswer{"alphakernel model fit", "", kModelFigures},
    JsonAnswer{"alphakernel model evaluate", "", kModelFigures},
    JsonAnswer{"alphakernel model count", "", kModelFigures},
    JsonAnswer{"alphakernel exchange export", "", kMaintenance},
    JsonAnswer{"alphakernel exchange import", "", kMaintenance},
    JsonAnswer{"alphakernel exchange check", "", kMaintenance},
    JsonAnswer{"alphakernel db merge", "", kMaintenance},
    JsonAnswer{"alphakernel db export", "", kMaintenance},
    JsonAnswer{"alphakernel db verify", "", kMaintenance},
    JsonAnswer{"alphakernel db upgrade", "", kMaintenance}};

/// "[`compare`](../operations.md#compare) or [`compare_subjects`](../operations.md#compare_subjects)"
std::string links_to(std::string_view operations) {
  std::istringstream names{std::string(operations)};
  std::vector<std::string> links;
  for (std::string name; names >> name;) links.push_back(fmt::format("[`{0}`](../operations.md#{0})", name));
  return fmt::format("{}", fmt::join(links, " or "));
}

}  // namespace

std::span<const JsonAnswer> json_answers() { return kRows; }

std::string json_sentence(std::string_view command) {
  const auto row = std::ranges::find(kRows, command, &JsonAnswer::command);
  if (row == kRows.end()) return "";
  if (row->operations.empty()) return fmt::format("`--json` prints {}.", row->document);
  return fmt::format("`--json` prints the answer of the operation {}.", links_to(row->operations));
}

}  // namespace ak::tools
