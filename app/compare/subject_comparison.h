// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/compare/compared_subject.h"
#include "core/learn/paired_statistics.h"
#include "core/text/json.h"

namespace ak::app {

/// One number of both sides; nothing where it is not known or does not apply.
struct ComparedMetric {
  std::string name, unit;  ///< unit: "", "%", "us", "s", "USD"
  std::optional<double> first, second;
};

/// The pairs of one definition.
struct DefinitionPairs {
  std::string definition;
  PairedTest test;
};

/// Two searches, devices, models or versions of the prompts alongside each other.
struct SubjectComparison {
  ComparedSubject first, second;
  std::string first_is, second_is;  ///< in words
  std::string pair_is;              ///< what a pair is; empty where nothing can be paired
  bool estimated = false;           ///< costs that the CPU device estimates, no GPU times
  std::vector<db::MatchedPair> pairs;
  std::optional<PairedTest> test;
  std::vector<DefinitionPairs> by_definition;  ///< where there are several
  std::string verdict;                         ///< whether the difference is more than chance, in a sentence
  std::vector<std::string> notes;              ///< what a reader has to know of it
  std::vector<ComparedMetric> metrics;
};

/// Both of one kind. Throws Error(usage) where they are not, or are the same.
[[nodiscard]] SubjectComparison compare_subjects(const std::filesystem::path& database,
                                                 const ComparedSubject& first, const ComparedSubject& second);

[[nodiscard]] std::string subject_comparison_text(const SubjectComparison& comparison);
[[nodiscard]] std::string subject_comparison_markdown(const SubjectComparison& comparison);
[[nodiscard]] Json subject_comparison_json(const SubjectComparison& comparison);

}  // namespace ak::app
