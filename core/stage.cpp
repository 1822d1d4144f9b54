// SPDX-License-Identifier: Apache-2.0
#include "core/stage.h"

#include <algorithm>
#include <array>

namespace ak {
namespace {

constexpr std::array kStages{
    StageInfo{StageId::predict, "predict", StageRunner::search,
              "its time is predicted, and a hopeless one is not evaluated"},
    StageInfo{StageId::pre_check, "pre_check", StageRunner::evaluator,
              "its source keeps the rules, its constraints hold, and it becomes a translation unit"},
    StageInfo{StageId::build, "build", StageRunner::compile_worker, "NVRTC compiles it"},
    StageInfo{
        StageId::resources, "resources", StageRunner::evaluator,
        "its precision, its plan for every workload, arguments, registers and shared memory; whether an "
        "equal program has run"},
    StageInfo{StageId::check, "check", StageRunner::device_worker,
              "its results are compared with the reference on every workload"},
    StageInfo{StageId::time, "time", StageRunner::device_worker,
              "its workloads are timed, alone or in pairs with a rival"},
    StageInfo{StageId::recheck, "recheck", StageRunner::device_worker,
              "within time: results and memory of timed calls picked at random"},
    StageInfo{StageId::profile, "profile", StageRunner::device_worker,
              "on request, instead of check and time: hardware counters of the timed workloads"},
    StageInfo{StageId::verdict, "verdict", StageRunner::evaluator,
              "its times are possible on this hardware, and make its score"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kStages.size(); ++i)
    if (kStages[i].id != static_cast<StageId>(i)) return false;
  return kStages.size() == static_cast<std::size_t>(StageId::verdict) + 1;
}
static_assert(in_order(), "every StageId has its row, in the order of the enumeration");

}  // namespace

std::span<const StageInfo> stages() { return kStages; }

std::string_view to_string(StageId stage) { return kStages.at(static_cast<std::size_t>(stage)).name; }

std::optional<StageId> parse_stage(std::string_view name) {
  const auto found = std::ranges::find(kStages, name, &StageInfo::name);
  return found == kStages.end() ? std::nullopt : std::optional(found->id);
}

}  // namespace ak
