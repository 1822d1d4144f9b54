// SPDX-License-Identifier: Apache-2.0
#include "core/evaluation.h"

#include <array>
#include <utility>

#include "core/error.h"

namespace ak {
namespace {

// Beginnings of names of counts; the first that fits.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kCountUnits{
    {{"inst/", "instructions"},
     {"flop/", "operations"},
     {"branch/", "branches"},
     {"atomic/operations", "operations"},
     {"atomic/", "threads"},
     {"shared/bank_conflicts", "wavefronts"},
     {"global/least_sectors", "sectors"},
     {"local/least_sectors", "sectors"}}};

}  // namespace

std::string_view unit_of_count(std::string_view name) {
  for (const auto& [beginning, unit] : kCountUnits) {
    if (name.starts_with(beginning)) return unit;
  }
  return name.substr(name.rfind('/') + 1);
}

std::string_view to_string(MeasurementRole role) {
  switch (role) {
    case MeasurementRole::candidate:
      return "candidate";
    case MeasurementRole::champion:
      return "champion";
    case MeasurementRole::baseline:
      return "baseline";
  }
  AK_ASSERT(false, "every MeasurementRole has a name");
  return "";
}

}  // namespace ak
