// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/evaluate/kernel_choice.h"
#include "codegen/export/export.h"
#include "db/read/evaluated_variant.h"

namespace ak::app {

/// A kernel that is to be exported, with what the database has of it.
struct ExportChoice {
  KernelChoice kernel;
  std::optional<db::EvaluatedVariant> stored;
  std::string members;  ///< which kernel of a set takes which shape, Markdown; empty: it is one kernel
};

/// Finds it by a word as choose_kernel() takes it.
/// @param device  product to describe; empty: any
/// Throws Error(usage) where there is none, Error(no_kernel) where it is known to be wrong.
[[nodiscard]] ExportChoice export_choice(const std::string& word, const std::string& device,
                                         const std::filesystem::path& database);

/// The number of best_variant(), as a word that names it. Throws Error(usage) naming what there is.
/// @param device  part of the product's name; empty: any
[[nodiscard]] std::string best_variant_of(const std::string& definition, const std::string& device,
                                          const std::filesystem::path& database);

/// Makes sure that the constraints of the kernel's plan hold on `target`, as far as they follow from its point, the params
/// and the device. What was evaluated for it is right there. Throws Error(no_kernel) naming those that do not.
void require_target(const ExportChoice& choice, const ProblemInstance& problem, const Arch& target);

/// What the README says of it.
[[nodiscard]] codegen::ExportFacts export_facts(const ExportChoice& choice, const ProblemInstance& problem);

}  // namespace ak::app
