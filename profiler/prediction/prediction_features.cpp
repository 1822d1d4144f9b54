// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/prediction_features.h"

#include <algorithm>
#include <cmath>

namespace ak::profiler {
namespace {

// Of quantities that may be zero: what is less than one part in 2^20 is nothing.
double log_ratio(double part, double whole) { return std::log2(std::max(part / whole, 0x1p-20)); }
double log_of(double value) { return std::log2(std::max(value, 1.0)); }

void add_terms(Features& features, const AnalyticTime& time) {
  features["log analytic"] = log_of(time.total_ns);
  features["launch share"] = log_ratio(time.launch_ns, time.total_ns);
  for (const TimeTerm& term : time.terms)
    features[std::string(term.name) + " share"] = log_ratio(term.time_ns, time.total_ns);
}

void add_geometry(Features& features, const CallFacts& facts, const DeviceRates& rates) {
  const LaunchFacts& main = facts.main_launch();
  const double waves = main.blocks / (rates.sm_count * main.built.blocks_per_sm);
  features["launches"] = static_cast<double>(facts.launches.size());
  features["log blocks"] = log_of(main.blocks);
  features["log waves"] = log_ratio(waves, 1);
  features["wave efficiency"] = waves / std::ceil(waves);
  features["log block threads"] = log_of(main.threads);
  features["log cluster"] = log_of(main.cluster);
  features["log shared bytes"] = log_of(main.shared_bytes);
  features["log shared bytes of an sm"] = log_of(main.shared_bytes * main.built.blocks_per_sm);
  features["occupancy"] = main.built.occupancy;
  features["blocks per sm"] = main.built.blocks_per_sm;
  features["log resident threads"] =
      log_of(std::min(main.blocks / rates.sm_count, main.built.blocks_per_sm) * main.threads);
  if (facts.knowledge == Knowledge::plan) return;
  features["registers"] = main.registers;
  features["log spill bytes"] = log_of(main.spill_bytes);
}

void add_work(Features& features, const CallFacts& facts, const DeviceRates& rates) {
  const LaunchFacts& main = facts.main_launch();
  const double bytes = facts.work.bytes_read + facts.work.bytes_written;
  const double threads = main.blocks * main.threads;
  features["log flops per byte"] = log_ratio(facts.work.flops, std::max(1.0, bytes));
  features["written share"] = facts.work.bytes_written / std::max(1.0, bytes);
  features["log bytes over l2"] = log_ratio(bytes, std::max(1.0, rates.l2_bytes));
  features["log bytes per thread"] = log_ratio(bytes, threads);
  features["log bytes per block"] = log_ratio(bytes, main.blocks);
  features["log flops per thread"] = log_ratio(facts.work.flops, threads);
  features["log flops per block"] = log_of(facts.work.flops / main.blocks);
  features["element bytes"] = facts.element_bytes;
  features["matrix unit"] = static_cast<double>(facts.matrix_unit);
  features["tensor maps"] = facts.tensor_maps ? 1 : 0;
  features["async copies"] = facts.async_copies ? 1 : 0;
  features["log workspace"] = log_of(facts.workspace_bytes);
}

void add_counts(Features& features, const CallFacts& facts) {
  if (facts.knowledge != Knowledge::count) return;
  const double bytes = facts.work.bytes_read + facts.work.bytes_written;
  const double requests = std::max(1.0, facts.count("global/requests"));
  const double warps = std::max(1.0, facts.count("inst/warp"));
  features["log bytes per request"] = log_ratio(facts.count("global/bytes"), requests);
  features["log sectors over least"] =
      log_ratio(facts.count("global/sectors"), std::max(1.0, facts.count("global/least_sectors")));
  features["log traffic over least"] = log_ratio(32 * facts.count("global/sectors"), std::max(1.0, bytes));
  features["log instructions per request"] = log_ratio(warps, requests);
  features["conflicts per wavefront"] =
      facts.count("shared/bank_conflicts") / std::max(1.0, facts.count("shared/wavefronts"));
  features["log wavefronts per request"] = log_ratio(facts.count("shared/wavefronts"), requests);
  for (const char* kind : {"special_function", "barrier", "integer", "warp", "control", "atomic"})
    features[std::string(kind) + " share"] =
        facts.count(std::string("inst/thread/") + kind) / std::max(1.0, facts.count("inst/thread"));
}

}  // namespace

Features physical_features(const CallFacts& facts, const AnalyticTime& time, const DeviceRates& rates) {
  Features features;
  add_terms(features, time);
  add_geometry(features, facts, rates);
  add_work(features, facts, rates);
  add_counts(features, facts);
  return features;
}

Features tunable_features(const CallFacts& facts) {
  Features features;
  for (const auto& [name, value] : facts.tunables)
    features[facts.space + ":" + name] = static_cast<double>(value);
  return features;
}

}  // namespace ak::profiler
