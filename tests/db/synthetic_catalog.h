// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codegen/problem/problem_catalog.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/store.h"
#include "tests/db/synthetic_rows.h"

namespace ak::db::test {

/// What the searches of a synthetic database draw from.

struct SyntheticTarget {
  std::string_view kind, name, arch, device_arch;
  int sm_count = 0;
  double gb_per_s = 0, tflops = 0;  ///< what times are made of
  double weight = 0;                ///< share of the searches; 0: has turns of its own
};
/// Two of them are one device with two targets of the compiler.
inline constexpr std::array kSyntheticTargets{
    SyntheticTarget{"cuda", "NVIDIA H200", "sm_90a", "sm_90a", 132, 4800, 800, 0.58},
    SyntheticTarget{"cuda", "NVIDIA H200", "sm_90", "sm_90a", 132, 4800, 600, 0.08},
    SyntheticTarget{"cuda", "NVIDIA A100-SXM4-80GB", "sm_80", "sm_80", 108, 2000, 250, 0.2},
    SyntheticTarget{"cuda", "NVIDIA GeForce RTX 4090", "sm_89", "sm_89", 128, 1000, 160, 0.14},
    SyntheticTarget{"emulator", "CPU emulator of sm_90a", "sm_90a", "sm_90a", 132, 4800, 800, 0},
};

struct SyntheticVariant {
  RowId row = 0;
  std::uint64_t point = 0;                               ///< number of the point in its space
  std::array<RowId, kSyntheticTargets.size()> builds{};  ///< 0: not built yet
  bool bad = false;                                      ///< fails wherever it is evaluated
};

struct SyntheticSource {
  Candidate candidate;
  RowId row = 0;
  std::string plan;        ///< as it is stored with every variant
  std::uint64_t salt = 0;  ///< of its family: revisions of a file behave alike
  double slowness = 1;     ///< factor of its times
  std::unordered_map<std::uint64_t, SyntheticVariant> variants = {};  ///< by point

  [[nodiscard]] std::uint64_t points() const;
  [[nodiscard]] TunableValues values(std::uint64_t point) const;
  /// Factor of its times at the point: 1 at best.
  [[nodiscard]] double cost(std::uint64_t point, std::size_t target) const;
};

struct SyntheticWorkload {
  RowId row = 0;
  std::string name;
  double bytes = 0, flops = 0;
};

struct SyntheticDefinition {
  std::shared_ptr<const ProblemInstance> problem;
  RowId row = 0;
  std::string params, workloads_hash;
  std::vector<SyntheticWorkload> timed;   ///< one or two
  std::deque<SyntheticSource> sources;    ///< addresses stay
  std::vector<SyntheticSource*> current;  ///< the latest revision of each template
};

/// Least time of a call, in ns.
[[nodiscard]] double min_ns(const SyntheticWorkload& workload, const SyntheticTarget& target);

class SyntheticCatalog {
 public:
  /// Writes devices, environment, definitions, workloads and the templates.
  SyntheticCatalog(Connection& connection, Random& random);

  std::deque<SyntheticDefinition> definitions;
  std::array<RowId, kSyntheticTargets.size()> devices{};
  RowId environment = 0;

  /// Another text that behaves as `like` does, except for `salt` and `slowness` where they are given again.
  SyntheticSource& add_source(SyntheticDefinition& definition, const SyntheticSource& like, std::string name,
                              const std::string& remark);

 private:
  void add_devices();
  void add_definition(const codegen::Problem& family, const std::map<std::string, std::string>& params);
  void add_workloads(SyntheticDefinition& definition);

  Random& random_;
  std::map<std::string, RowId> source_rows_;  ///< by hash
  Insert device_, environment_, definition_, workload_, source_;
};

}  // namespace ak::db::test
