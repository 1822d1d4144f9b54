// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/metric_catalog.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "core/text/file.h"
#include "profiler/analysis/bottleneck_rules.h"

using namespace ak::profiler;

TEST_CASE("every metric of the catalogue has a name, a meaning and a unit of its own") {
  std::set<std::string_view> names;
  for (const MetricInfo& metric : catalog()) {
    INFO(metric.name);
    CHECK(names.insert(metric.name).second);
    CHECK(names.insert(metric.cupti).second);
    CHECK(metric.name.find('/') != std::string_view::npos);
    CHECK(metric.cupti.find("__") != std::string_view::npos);
    CHECK(metric.cupti.find('.') != std::string_view::npos);
    CHECK_FALSE(metric.unit.empty());
    CHECK_FALSE(metric.meaning.empty());
  }
}

TEST_CASE("each set of metrics holds the smaller one") {
  const auto quick = metrics_of(MetricSet::quick), standard = metrics_of(MetricSet::standard),
             full = metrics_of(MetricSet::full);
  CHECK(quick.size() >= 12);
  CHECK(standard.size() > quick.size());
  CHECK(full.size() == catalog().size());
  for (const MetricInfo* metric : quick) CHECK(std::ranges::count(standard, metric) == 1);
}

TEST_CASE("a metric is found by our name and by CUPTI's") {
  const MetricInfo* metric = find_metric("dram/bytes_read");
  REQUIRE(metric != nullptr);
  CHECK(metric->cupti == "dram__bytes_read.sum");
  CHECK(find_metric("dram__bytes_read.sum") == metric);
  CHECK(find_metric("dram/bytes") == nullptr);
}

TEST_CASE("metrics are asked for by set or by name, each once") {
  CHECK(parse_metrics("standard")->size() == metrics_of(MetricSet::standard).size());
  const auto two = parse_metrics("pipe/xu,dram__bytes_read.sum,pipe/xu");
  REQUIRE(two);
  REQUIRE(two->size() == 2);
  CHECK((*two)[0]->name == "pipe/xu");
}

TEST_CASE("a misspelt metric is refused with the nearest name") {
  const auto metrics = parse_metrics("pipe/xu,dram/byte_read");
  REQUIRE_FALSE(metrics);
  CHECK(metrics.error().message.find("'dram/byte_read'; did you mean 'dram/bytes_read'?") !=
        std::string::npos);
  CHECK_FALSE(parse_metrics(""));
  CHECK(parse_metrics("standart").error().message.find("did you mean 'standard'?") != std::string::npos);
}

// docs/profiling.md shows both tables; what is printed here on failure is to be pasted there.
TEST_CASE("the documentation lists every metric and every rule") {
  const std::string page = ak::read_file(AK_DOCS "/profiling.md");
  std::string metrics;
  for (const MetricInfo& metric : catalog()) {
    metrics += fmt::format("| `{}` | {} | {} | {} | `{}` |\n", metric.name, metric.unit, metric.meaning,
                           to_string(metric.set), metric.cupti);
  }
  std::string rules;
  for (const Rule& rule : bottleneck_rules()) {
    rules += fmt::format("| `{}` | {} | {} |\n", rule.name, rule.title, rule.source);
  }
  CHECK(page.find(metrics) != std::string::npos);
  CHECK(page.find(rules) != std::string::npos);
}
