// SPDX-License-Identifier: Apache-2.0
// CUPTI's host library knows the metrics and passes of every chip, without a GPU: the catalogue against it.
#include <cupti_profiler_host.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>

#include <memory>

#include "profiler/analysis/metric_catalog.h"
#include "tests/profiler/host_libraries.h"

using namespace ak::profiler;

namespace {

class HostLibrary {
 public:
  HostLibrary() {
    for (const char* path : {"libcupti.so.13", "/usr/local/cuda/lib64/libcupti.so.13",
                             "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"}) {
      if (!library_) library_.reset(dlopen(path, RTLD_NOW | RTLD_LOCAL));
    }
  }
  explicit operator bool() const { return library_ != nullptr; }

  template <class Params>
  bool call(const char* function, Params& params, std::size_t size) const {
    params.structSize = size;
    const auto address = reinterpret_cast<CUptiResult (*)(Params*)>(dlsym(library_.get(), function));
    return address != nullptr && address(&params) == CUPTI_SUCCESS;
  }

 private:
  struct Close {
    void operator()(void* library) const { dlclose(library); }
  };
  std::unique_ptr<void, Close> library_;
};

// 0: CUPTI refuses one of the names.
std::size_t passes_of(const HostLibrary& library, const std::vector<const char*>& names) {
  CUpti_Profiler_Host_Initialize_Params init{};
  init.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  init.pChipName = "GH100";
  REQUIRE(
      library.call("cuptiProfilerHostInitialize", init, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE));
  CUpti_Profiler_Host_ConfigAddMetrics_Params add{};
  add.pHostObject = init.pHostObject;
  add.ppMetricNames = const_cast<const char**>(names.data());
  add.numMetrics = names.size();
  if (!library.call("cuptiProfilerHostConfigAddMetrics", add,
                    CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE)) {
    return 0;
  }
  CUpti_Profiler_Host_GetConfigImageSize_Params size{};
  size.pHostObject = init.pHostObject;
  REQUIRE(library.call("cuptiProfilerHostGetConfigImageSize", size,
                       CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE));
  std::vector<std::uint8_t> bytes(size.configImageSize);
  CUpti_Profiler_Host_GetConfigImage_Params image{};
  image.pHostObject = init.pHostObject;
  image.pConfigImage = bytes.data();
  image.configImageSize = bytes.size();
  REQUIRE(library.call("cuptiProfilerHostGetConfigImage", image,
                       CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE));
  CUpti_Profiler_Host_GetNumOfPasses_Params passes{};
  passes.pConfigImage = bytes.data();
  passes.configImageSize = bytes.size();
  REQUIRE(library.call("cuptiProfilerHostGetNumOfPasses", passes,
                       CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE));
  CUpti_Profiler_Host_Deinitialize_Params end{};
  end.pHostObject = init.pHostObject;
  library.call("cuptiProfilerHostDeinitialize", end, CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
  return passes.numOfPasses;
}

std::vector<const char*> names_of(MetricSet set) {
  std::vector<const char*> names;
  for (const MetricInfo* metric : metrics_of(set)) names.push_back(metric->cupti.data());
  return names;
}

}  // namespace

TEST_CASE("CUPTI knows every metric of the catalogue on GH100, and the sets cost the passes they claim") {
  if (!host_libraries_load()) return;
  const HostLibrary library;
  if (!library) {
    WARN("libcupti.so.13 was not found: names are not checked");
    return;
  }
  for (const MetricInfo& metric : catalog()) {
    INFO(metric.cupti);
    CHECK(passes_of(library, {metric.cupti.data()}) > 0);
  }
  CHECK(passes_of(library, {"dram__bytes_red.sum"}) == 0);
  CHECK(passes_of(library, names_of(MetricSet::quick)) == 1);
  CHECK(passes_of(library, names_of(MetricSet::standard)) <= 8);
  CHECK(passes_of(library, names_of(MetricSet::full)) <= 20);
}
