// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/tuning/condition.h"
#include "core/tuning/tunable_space.h"

namespace ak {

/// Builds the diagram of a space layer by layer. A beginning is given up as soon as a constraint cannot be
/// satisfied any more: constraints are evaluated over the ranges of what is not bound yet. One that is sure
/// to hold is settled, and values that only settled constraints mention are forgotten: beginnings that
/// differ only there are one node.
class SpaceBuilder {
 public:
  explicit SpaceBuilder(TunableSpace& space) : space_(space) {}
  [[nodiscard]] std::optional<InputError> build();

 private:
  using Cell = std::uint16_t;

  [[nodiscard]] std::optional<InputError> check_parameters();
  [[nodiscard]] std::optional<InputError> compile();
  void order_parameters();
  void prepare_ranges();
  [[nodiscard]] std::optional<InputError> add_layer(std::size_t layer);
  bool extend(std::size_t parameter, Cell value);
  void load(const Cell* row);
  void forget();
  [[nodiscard]] std::uint32_t node_of_row(std::vector<Cell>& rows);
  [[nodiscard]] std::optional<InputError> count();
  [[nodiscard]] Truth decide(std::size_t constraint) const;
  double text_number(const std::string& text);

  TunableSpace& space_;
  std::vector<Condition> conditions_;
  std::vector<std::vector<std::size_t>> touching_;  ///< of each parameter: the conditions that name it
  std::map<std::string, double> texts_;
  std::vector<std::vector<ValueRange>> values_;  ///< [parameter][value]
  std::vector<ValueRange> whole_;                ///< [parameter]: all its values

  // The beginning being worked on: of each parameter its value or kFree, then of each condition
  // 1 once settled.
  std::vector<Cell> row_;
  std::vector<ValueRange> slots_;
  std::vector<char> bound_;                ///< [parameter]
  std::vector<std::uint32_t> table_;       ///< open addressing: node + 1 of the layer being made
  std::vector<Cell> current_, following_;  ///< rows of two layers
};

}  // namespace ak
