// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti/cupti_profiler.h"

#include "profiler/cupti/launch_timeline.h"
#include "profiler/cupti/pc_sampler.h"
#include "profiler/cupti/range_profiler.h"

namespace ak::profiler {
namespace {

class CuptiProfiler final : public runtime::LaunchProfiler {
 public:
  CuptiProfiler(CUcontext context, int ordinal) : context_(context), ordinal_(ordinal) {}

  Profile profile(const ProfileOptions& profile_options, const runtime::ProfiledCall& call) override {
    Profile profile;
    profile.method = "cupti";
    for (const std::string& kernel : call.kernels)
      profile.launches.push_back({.kernel = kernel, .metrics = {}, .lines = {}});
    const auto loaded = load_cupti();
    if (!loaded) {
      profile.degradation.push_back(loaded.error().message);
      return profile;
    }
    const CuptiApi& api = **loaded;
    if (!profile_options.metrics.empty()) {
      attempt("no counters", profile, [&] {
        if (!ranges_) ranges_.emplace(api, context_, ordinal_);
        ranges_->measure(profile_options.metrics, call, profile);
      });
      // After one pass the counters are still held, for the next profile.
      if (profile.passes > 1) attempt("no time stamps", profile, [&] { add_timeline(api, call, profile); });
    }
    if (profile_options.sample_lines) {
      release();  // the two cannot be on at the same time
      attempt("no samples", profile, [&] { PcSampler(api, context_).sample(call, profile); });
    }
    return profile;
  }

  std::string unavailable_reason() override {
    const auto loaded = load_cupti();
    if (!loaded) return loaded.error().message;
    try {
      if (!ranges_) ranges_.emplace(**loaded, context_, ordinal_);
      ranges_->take_hold();
      release();
    } catch (const CuptiError& error) {
      return error.what();
    }
    return "";
  }

  void release() override {
    if (ranges_) ranges_->release();
  }

 private:
  template <class Action>
  static void attempt(const char* loss, Profile& profile, Action action) {
    try {
      action();
    } catch (const CuptiError& error) {
      profile.degradation.push_back(fmt::format("{}: {}", loss, error.what()));
    }
  }

  CUcontext context_;
  int ordinal_;
  std::optional<RangeProfiler> ranges_;
};

}  // namespace

std::unique_ptr<runtime::LaunchProfiler> make_launch_profiler(int ordinal) {
  CUcontext context = nullptr;
  runtime::check(runtime::driver().cuCtxGetCurrent(&context), "asking for the current context");
  return std::make_unique<CuptiProfiler>(context, ordinal);
}

}  // namespace ak::profiler
