// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti/metric_host.h"

#include <cmath>

namespace ak::profiler {

std::vector<const char*> c_strings(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

void MetricHost::Deleter::operator()(CUpti_Profiler_Host_Object* host) const noexcept {
  AK_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
  params.pHostObject = host;
  static_cast<void>(api->cuptiProfilerHostDeinitialize(&params));
}

MetricHost::MetricHost(const CuptiApi& api, const std::string& chip,
                       const std::vector<std::uint8_t>& availability)
    : api_(api), chip_(chip), availability_(availability), host_(make()) {}

MetricHost::Handle MetricHost::make() const {
  AK_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, params);
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip_.c_str();
  params.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
  check(api_, api_.cuptiProfilerHostInitialize(&params), "asking CUPTI for the chip's metrics");
  return {params.pHostObject, Deleter{&api_}};
}

bool MetricHost::has(const std::string& metric) const {
  AK_CUPTI_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, params);
  params.pHostObject = host_.get();
  params.pMetricName = metric.c_str();
  return api_.cuptiProfilerHostGetMetricProperties(&params) == CUPTI_SUCCESS;
}

// A host object keeps the metrics that were added to it: each configuration is made by one of its own.
std::vector<std::uint8_t> MetricHost::configuration(const std::vector<std::string>& metrics) const {
  const Handle host = make();
  auto names = c_strings(metrics);
  AK_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
  add.pHostObject = host.get();
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  check(api_, api_.cuptiProfilerHostConfigAddMetrics(&add), "choosing metrics");
  AK_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = host.get();
  check(api_, api_.cuptiProfilerHostGetConfigImageSize(&size), "sizing the counters' configuration");
  std::vector<std::uint8_t> image(size.configImageSize);
  AK_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, get);
  get.pHostObject = host.get();
  get.configImageSize = image.size();
  get.pConfigImage = image.data();
  check(api_, api_.cuptiProfilerHostGetConfigImage(&get), "making the counters' configuration");
  return image;
}

int MetricHost::passes(std::vector<std::uint8_t> configuration) const {
  AK_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, params);
  params.configImageSize = configuration.size();
  params.pConfigImage = configuration.data();
  check(api_, api_.cuptiProfilerHostGetNumOfPasses(&params), "counting passes");
  return static_cast<int>(params.numOfPasses);
}

Metrics MetricHost::evaluate(const std::vector<std::uint8_t>& counters, std::size_t range,
                             const std::vector<std::string>& metrics) const {
  auto names = c_strings(metrics);
  std::vector<double> values(names.size());
  AK_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, params);
  params.pHostObject = host_.get();
  params.pCounterDataImage = counters.data();
  params.counterDataImageSize = counters.size();
  params.rangeIndex = range;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  params.pMetricValues = values.data();
  check(api_, api_.cuptiProfilerHostEvaluateToGpuValues(&params), "evaluating counters");
  Metrics found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) found[metrics[i]] = values[i];  // a ratio of nothing is none
  }
  return found;
}

}  // namespace ak::profiler
