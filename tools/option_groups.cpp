// SPDX-License-Identifier: Apache-2.0
#include "tools/option_groups.h"

#include <array>
#include <map>

namespace ak::tools {
namespace {

constexpr const char* kUngrouped = "Options";  // CLI11's name for what no one put anywhere

constexpr std::string_view kProblem = kProblemGroup, kMain = "Main", kSearch = "Search",
                           kModels = "Language models", kBudget = "Budget", kDevice = "Device and target",
                           kOutput = "Output", kAdvanced = "Advanced";

const std::map<std::string_view, std::string_view>& groups_of_names() {
  static const std::map<std::string_view, std::string_view> table{
      {"proposer", kSearch},
      {"strategy", kSearch},
      {"set", kSearch},
      {"template", kSearch},
      {"start", kSearch},
      {"from", kSearch},
      {"fresh", kSearch},
      {"best", kSearch},
      {"no-prior", kSearch},
      {"seed", kSearch},
      {"deterministic", kSearch},
      {"model", kModels},
      {"agent-minutes", kModels},
      {"agent-evaluations", kModels},
      {"agent-cost-usd", kModels},
      {"record", kModels},
      {"mailbox-wait", kModels},
      {"max-evaluations", kBudget},
      {"max-compilations", kBudget},
      {"max-minutes", kBudget},
      {"max-tokens", kBudget},
      {"max-cost-usd", kBudget},
      {"patience", kBudget},
      {"stop-when-done", kBudget},
      {"target-performance", kBudget},
      {"timeout", kBudget},
      {"arch", kDevice},
      {"target", kDevice},
      {"device", kDevice},
      {"pool", kDevice},
      {"output", kOutput},
      {"output-folder", kOutput},
      {"force", kOutput},
      {"format", kOutput},
      {"json", kOutput},
      {"markdown", kOutput},
      {"csv", kOutput},
      {"quiet", kOutput},
      {"db", kAdvanced},
      {"cache", kAdvanced},
      {"workers", kAdvanced},
      {"unaudited", kAdvanced},
      {"help", kAdvanced},
      {"version", kAdvanced},
  };
  return table;
}

}  // namespace

std::span<const std::string_view> option_groups() {
  static constexpr std::array kGroups{kProblem, kMain,   kSearch, kModels,
                                      kBudget,  kDevice, kOutput, kAdvanced};
  return kGroups;
}

std::string group_of(const CLI::Option& option) {
  if (option.get_group() != kUngrouped) return option.get_group();
  const auto& table = groups_of_names();
  for (const std::string& name : option.get_lnames())
    if (const auto found = table.find(name); found != table.end()) return std::string(found->second);
  return std::string(kMain);
}

}  // namespace ak::tools
