// SPDX-License-Identifier: Apache-2.0
// What is refused and how that is said, by a made-up CUPTI; what metrics need, by the real one, which knows
// chips without having them.
#include <catch2/catch.hpp>

#include "profiler/analysis/metric_catalog.h"
#include "profiler/cupti/launch_timeline.h"
#include "profiler/cupti/metric_host.h"
#include "profiler/cupti/range_profiler.h"
#include "tests/profiler/host_libraries.h"

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

std::string input_error(const CuptiApi& api) {
  try {
    const RangeProfiler profiler(api, nullptr, 0);
  } catch (const CuptiError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a driver that keeps counters to administrators is reported with the option that opens them") {
  CuptiApi api = willing();
  api.cuptiProfilerGetCounterAvailability = [](CUpti_Profiler_GetCounterAvailability_Params*) {
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  };
  const std::string words = input_error(api);
  CHECK_THAT(words, Catch::Contains("NVreg_RestrictProfilingToAdminUsers=0"));
  CHECK_THAT(words, Catch::Contains("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"));
}

TEST_CASE("another profiler in the process is reported, and what to do") {
  CuptiApi api = willing();
  api.cuptiProfilerInitialize = [](CUpti_Profiler_Initialize_Params*) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  };
  CHECK_THAT(input_error(api), Catch::Contains("without ncu, nsys or compute-sanitizer"));
}

TEST_CASE("a device that cannot be profiled is reported with its reason") {
  CuptiApi api = willing();
  api.cuptiProfilerDeviceSupported = [](CUpti_Profiler_DeviceSupported_Params* params) {
    params->isSupported = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
    params->architecture = params->sli = params->confidentialCompute = params->cmp = params->wsl =
        CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->vGpu = CUPTI_PROFILER_CONFIGURATION_DISABLED;
    return CUPTI_SUCCESS;
  };
  CHECK(input_error(api) ==
        "the device cannot be profiled because of a virtual GPU without the licence or right");
}

TEST_CASE("CUPTI knows which metrics a chip has and how many passes they take, without the chip") {
  if (!host_libraries_load()) return;
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
  if (!loaded || !host_libraries_load()) return;
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

namespace {

/// A CUPTI whose call made two launches, recorded in the wrong order.
struct SyntheticRecords {
  static inline CUpti_BuffersCallbackRequestFunc give = nullptr;
  static inline CUpti_BuffersCallbackCompleteFunc take = nullptr;
  static inline std::size_t next = 0;

  static CuptiApi api() {
    CuptiApi api = willing();
    api.cuptiActivityRegisterCallbacks = [](CUpti_BuffersCallbackRequestFunc request,
                                            CUpti_BuffersCallbackCompleteFunc complete) {
      give = request;
      take = complete;
      return CUPTI_SUCCESS;
    };
    api.cuptiActivityEnable = [](CUpti_ActivityKind) { return CUPTI_SUCCESS; };
    api.cuptiActivityDisable = [](CUpti_ActivityKind) { return CUPTI_SUCCESS; };
    api.cuptiActivityFlushAll = [](std::uint32_t) {
      std::uint8_t* buffer = nullptr;
      std::size_t size = 0, records = 0;
      give(&buffer, &size, &records);
      auto* kernels = reinterpret_cast<CUpti_ActivityKernel10*>(buffer);
      for (std::size_t i = 0; i < 2; ++i) {
        kernels[i] = {};
        kernels[i].kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        kernels[i].start = i == 0 ? 1'500 : 1'000;
        kernels[i].end = i == 0 ? 1'900 : 1'400;
      }
      next = 0;
      take(nullptr, 0, buffer, size, 2 * sizeof(CUpti_ActivityKernel10));
      return CUPTI_SUCCESS;
    };
    api.cuptiActivityGetNextRecord = [](std::uint8_t* buffer, std::size_t, CUpti_Activity** record) {
      if (next == 2) return CUPTI_ERROR_MAX_LIMIT_REACHED;
      *record = reinterpret_cast<CUpti_Activity*>(buffer + next++ * sizeof(CUpti_ActivityKernel10));
      return CUPTI_SUCCESS;
    };
    return api;
  }
};

Profile timeline_of(const CuptiApi& api, std::size_t launches) {
  const runtime::KernelImage image;
  Profile profile;
  profile.launches.resize(launches);
  add_timeline(api, {.kernels = {}, .image = image, .load = [] {}, .prepare = [] {}, .run = [] {}}, profile);
  return profile;
}

}  // namespace

TEST_CASE("a call's launches get their durations and the gaps between them, in the order of their starts") {
  const Profile profile = timeline_of(SyntheticRecords::api(), 2);
  CHECK(profile.degradation.empty());
  CHECK(profile.launches[0].metrics == Metrics{{"timeline/duration", 400}});
  CHECK(profile.launches[1].metrics == Metrics{{"timeline/duration", 400}, {"timeline/gap", 100}});
  CHECK(profile.units.at("timeline/gap") == "ns");
}

TEST_CASE("records of other launches than the plan's are no timeline") {
  const Profile profile = timeline_of(SyntheticRecords::api(), 3);
  REQUIRE(profile.degradation.size() == 1);
  CHECK(profile.degradation.front() == "no time stamps: 2 launches were seen, not 3");
  CHECK(profile.launches[0].metrics.empty());
}

TEST_CASE("without the right to time stamps an error says what was being done") {
  CuptiApi api = SyntheticRecords::api();
  api.cuptiActivityEnable = [](CUpti_ActivityKind) { return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES; };
  CHECK_THROWS_AS(timeline_of(api, 2), CuptiError);
}

}  // namespace ak::profiler
