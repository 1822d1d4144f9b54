// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/tuning/condition.h"
#include "core/tuning/tunable_space.h"

namespace ak {

/// Builds the diagram of a space layer by layer. A beginning is given up as soon as a constraint cannot be
/// satisfied any more: constraints are evaluated over the ranges of what is not bound yet. One that is sure
/// to hold is settled. Beginnings are one node where all that open constraints still depend on is the same: of
/// `A * B * C <= 64` the product of A and B.
class SpaceBuilder {
 public:
  /// @param ignored of each constraint, then of each derived name, whether it is left out; empty: none is
  SpaceBuilder(TunableSpace& space, std::size_t max_bytes, std::vector<char> ignored)
      : space_(space), max_bytes_(max_bytes), ignored_(std::move(ignored)) {}
  [[nodiscard]] std::optional<InputError> build();

 private:
  using Cell = std::uint16_t;

  /// A constraint, or that a derived name has a value.
  struct Check {
    Condition condition;
    bool any_value = false;            ///< it holds where it has a value
    std::vector<std::size_t> depends;  ///< on these parameters
    std::vector<std::size_t> derived;  ///< by these derived names, ascending
  };
  /// 128 bits of a hash of what open checks still depend on. Of 2^24 nodes in a layer two would be taken for one
  /// with a chance of 2^-81.
  using Key = std::array<std::uint64_t, 2>;
  /// The nodes of a layer while it is made.
  struct Layer {
    std::vector<Cell> rows;            ///< of each node, a beginning that leads there
    std::vector<Key> keys;             ///< of each node
    std::vector<std::uint32_t> table;  ///< open addressing: node + 1
  };

  [[nodiscard]] std::optional<InputError> check_parameters();
  [[nodiscard]] std::optional<InputError> compile();
  [[nodiscard]] Check check_of(Condition condition, bool any_value) const;
  void order_parameters();
  void prepare_ranges();
  [[nodiscard]] ValueRange range_of(const TuningValue& value);
  [[nodiscard]] bool begin();
  [[nodiscard]] std::optional<InputError> add_layer(std::size_t layer);
  bool extend(std::size_t parameter, Cell value);
  bool settle(std::size_t check);
  void load(const Cell* row);
  void derive(std::size_t derived);
  void forget();
  void find_residue();
  [[nodiscard]] std::uint32_t node_of_row();
  [[nodiscard]] bool too_large() const;
  [[nodiscard]] std::optional<InputError> count();
  [[nodiscard]] Truth decide(const Check& check) const;
  [[nodiscard]] bool holds_exactly(const Check& check) const;
  [[nodiscard]] bool all_bound(const Check& check) const;
  [[nodiscard]] bool open(std::size_t check) const { return row_[parameters() + check] == 0; }
  [[nodiscard]] std::size_t parameters() const { return whole_.size(); }
  double text_number(const std::string& text);

  TunableSpace& space_;
  std::size_t max_bytes_;
  std::vector<char> ignored_;
  std::vector<Check> checks_;   ///< those of constraints, then those of derived names
  std::vector<Check> derived_;  ///< how derived names follow
  std::vector<std::vector<std::size_t>> touching_, deriving_;  ///< of each parameter: checks, derived names
  std::map<std::string, double> texts_;
  std::vector<std::vector<ValueRange>> values_;  ///< [parameter][value]
  std::vector<ValueRange> whole_;                ///< [parameter]: all its values

  // The beginning being worked on: of each parameter its value or kFree, then of each check 1 once settled.
  std::vector<Cell> row_;
  std::vector<ValueRange> slots_;  ///< of parameters, known names, derived names
  std::vector<double> keys_;       ///< of slots: the value bound, or -1
  std::vector<char> bound_;        ///< [parameter]
  std::vector<double> residue_;
  std::vector<Cell> current_;  ///< rows of the layer that is finished
  Layer next_;
};

}  // namespace ak
