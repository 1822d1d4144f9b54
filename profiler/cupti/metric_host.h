// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/profile.h"
#include "profiler/cupti/cupti_api.h"

namespace ak::profiler {

/// CUPTI's knowledge of one chip: which counters a set of metrics needs, and what the counters' values say.
/// Needs no device. One thread.
class MetricHost {
 public:
  /// @param chip "GH100"
  /// @param availability of the device's counters as CUPTI gives it; empty: all that the chip has
  /// Throws CuptiError.
  MetricHost(const CuptiApi& api, const std::string& chip, const std::vector<std::uint8_t>& availability);

  /// Whether the chip has the metric.
  [[nodiscard]] bool has(const std::string& metric) const;
  /// The configuration with which the hardware counts `metrics`, all of which it has. Throws CuptiError.
  [[nodiscard]] std::vector<std::uint8_t> configuration(const std::vector<std::string>& metrics) const;
  /// Times that the work has to run for it.
  [[nodiscard]] int passes(std::vector<std::uint8_t> configuration) const;
  /// Values of `metrics` in range number `range` of decoded counters.
  [[nodiscard]] Metrics evaluate(const std::vector<std::uint8_t>& counters, std::size_t range,
                                 const std::vector<std::string>& metrics) const;

 private:
  struct Deleter {
    const CuptiApi* api;
    void operator()(CUpti_Profiler_Host_Object* host) const noexcept;
  };
  using Handle = std::unique_ptr<CUpti_Profiler_Host_Object, Deleter>;
  [[nodiscard]] Handle make() const;

  const CuptiApi& api_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  Handle host_;
};

/// As CUPTI takes lists of names; valid as long as `names`.
[[nodiscard]] std::vector<const char*> c_strings(const std::vector<std::string>& names);

}  // namespace ak::profiler
