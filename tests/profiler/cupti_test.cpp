// SPDX-License-Identifier: Apache-2.0
// What is refused and how that is said, by a made-up CUPTI; what metrics need, by the real one, which knows
// chips without having them.
#include <catch2/catch.hpp>

#include "profiler/cupti/metric_host.h"
#include "profiler/cupti/range_profiler.h"
#include "profiler/metric_catalog.h"

namespace ak::profiler {
namespace {

CUptiResult name_of_result(CUptiResult result, const char** text) {
  *text =
      result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR";
  return CUPTI_SUCCESS;
}

/// Says yes to everything up to the counters.
CuptiApi willing() {
  CuptiApi api;
  api.cuptiGetResultString = name_of_result;
  api.cuptiProfilerInitialize = [](CUpti_Profiler_Initialize_Params*) { return CUPTI_SUCCESS; };
  api.cuptiProfilerDeviceSupported = [](CUpti_Profiler_DeviceSupported_Params* params) {
    params->isSupported = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return CUPTI_SUCCESS;
  };
  api.cuptiDeviceGetChipName = [](CUpti_Device_GetChipName_Params* params) {
    params->pChipName = "GH100";
    return CUPTI_SUCCESS;
  };
  api.cuptiProfilerGetCounterAvailability = [](CUpti_Profiler_GetCounterAvailability_Params*) {
    return CUPTI_SUCCESS;
  };
  return api;
}

std::string complaint(const CuptiApi& api) {
  try {
    const RangeProfiler profiler(api, nullptr, 0);
  } catch (const CuptiError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a driver that keeps counters to administrators is told with the option that opens them") {
  CuptiApi api = willing();
  api.cuptiProfilerGetCounterAvailability = [](CUpti_Profiler_GetCounterAvailability_Params*) {
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  };
  const std::string words = complaint(api);
  CHECK_THAT(words, Catch::Contains("NVreg_RestrictProfilingToAdminUsers=0"));
  CHECK_THAT(words, Catch::Contains("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"));
}

TEST_CASE("another profiler in the process is told, and what to do") {
  CuptiApi api = willing();
  api.cuptiProfilerInitialize = [](CUpti_Profiler_Initialize_Params*) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  };
  CHECK_THAT(complaint(api), Catch::Contains("without ncu, nsys or compute-sanitizer"));
}

TEST_CASE("a device that cannot be profiled is told with its reason") {
  CuptiApi api = willing();
  api.cuptiProfilerDeviceSupported = [](CUpti_Profiler_DeviceSupported_Params* params) {
    params->isSupported = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
    params->architecture = params->sli = params->confidentialCompute = params->cmp = params->wsl =
        CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->vGpu = CUPTI_PROFILER_CONFIGURATION_DISABLED;
    return CUPTI_SUCCESS;
  };
  CHECK(complaint(api) ==
        "the device cannot be profiled because of a virtual GPU without the licence or right");
}

TEST_CASE("CUPTI knows which metrics a chip has and how many passes they take, without the chip") {
  const auto loaded = load_cupti();
  if (!loaded) {
    WARN("not tested: " << loaded.error().message);
    return;
  }
  const MetricHost host(**loaded, "GH100", {});
  CHECK(host.has("dram__bytes_read.sum"));
  CHECK_FALSE(host.has("dram__bytes_invented.sum"));
  CHECK(host.passes(host.configuration({"dram__bytes_read.sum"})) == 1);
  // One configuration leaves no trace in the next.
  std::vector<std::string> all;
  for (const MetricInfo& metric : catalog()) all.emplace_back(metric.cupti);
  CHECK(host.passes(host.configuration(all)) > 5);
  CHECK(host.passes(host.configuration({"sm__inst_executed.sum"})) == 1);
}

TEST_CASE("a chip that CUPTI does not know is an error that says what was being done") {
  const auto loaded = load_cupti();
  if (!loaded) return;
  CHECK_THROWS_WITH(MetricHost(**loaded, "GX999", {}),
                    Catch::Contains("asking CUPTI for the chip's metrics"));
}

TEST_CASE("metrics get the catalogue's names and units, and keep their own where it has none") {
  Profile profile;
  profile.launches.push_back(
      {.kernel = "k", .metrics = {{"dram__bytes_read.sum", 64}, {"something__else.sum", 1}}, .lines = {}});
  profile = named(std::move(profile));
  CHECK(profile.launches[0].metrics == Metrics{{"dram/bytes_read", 64}, {"something__else.sum", 1}});
  CHECK(profile.units == std::map<std::string, std::string>{{"dram/bytes_read", "bytes"}});
}

}  // namespace ak::profiler
