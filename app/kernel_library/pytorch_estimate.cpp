// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/pytorch_estimate.h"

#include <map>

#include "core/error.h"
#include "core/text/json_reader.h"
#include "core/text/written_json.h"
#include "pytorch_estimate_files.h"

namespace ak::app {
namespace {

struct Estimates {
  std::map<std::string, PytorchEstimate, std::less<>> of_algorithms;
  PytorchEstimate otherwise;
};

PytorchEstimate read_estimate(const JsonReader& at) {
  return {.fixed_us = at.member("fixed_us").number(),
          .memory = at.member("memory").number(),
          .compute = at.member("compute").number(),
          .source = at.member("source").text()};
}

Estimates read_estimates() {
  Estimates estimates;
  const Json json = parse_written_json(pytorch_estimate_files().front().text);
  const JsonReader at(json);
  estimates.otherwise = read_estimate(at.member("otherwise"));
  for (const JsonReader& entry : at.member("estimates").items())
    for (const JsonReader& algorithm : entry.member("algorithms").items())
      estimates.of_algorithms[algorithm.text()] = read_estimate(entry);
  return estimates;
}

}  // namespace

const PytorchEstimate& pytorch_estimate_of(std::string_view algorithm) {
  static const Estimates estimates = read_estimates();
  const auto found = estimates.of_algorithms.find(algorithm);
  return found == estimates.of_algorithms.end() ? estimates.otherwise : found->second;
}

}  // namespace ak::app
