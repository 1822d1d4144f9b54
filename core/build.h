// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/device/arch.h"
#include "core/outcome.h"
#include "core/text/json.h"

namespace ak {

/// Everything NVRTC is given: the product of codegen, the input of the compile workers, and (hashed together
/// with the NVRTC version) the key of the build cache.
struct TranslationUnit {
  std::string file_name;  ///< what messages call the candidate, e.g. "softmax.cu"
  std::string source;     ///< candidate with prelude and constants inserted; #line keeps its own line numbers
  std::vector<std::pair<std::string, std::string>> headers;  ///< name -> text, in memory (shims)
  std::vector<std::string> options;                          ///< NVRTC options except the architecture
  std::vector<std::string> kernels;                          ///< name expressions to lower
  Arch arch;

  [[nodiscard]] std::string hash() const;
};

/// What ptxas reported for one kernel.
struct KernelFacts {
  std::string expression;    ///< as the launch plan names it
  std::string lowered_name;  ///< mangled symbol in the cubin
  int registers = 0;         ///< per thread
  int spill_store_bytes = 0, spill_load_bytes = 0;
  int stack_bytes = 0;
  int static_shared_bytes = 0;
  int constant_bytes = 0;
  int barriers = 0;
  std::vector<std::string>
      parameter_types;  ///< PTX types in order: "u64", "u32", "f32", "b8[128]" for aggregates
  int max_threads = 0;  ///< from __launch_bounds__; 0 when not given
};

struct BuildResult {
  Outcome outcome;  ///< ok, invalid_candidate, compile_error, timeout, out_of_memory, infrastructure_error
  std::string key;  ///< TranslationUnit::hash() with the NVRTC version mixed in
  std::string ptx;
  std::size_t dropped_ptx_bytes = 0;  ///< of PTX that is not kept any more
  std::string cubin;
  std::string log;  ///< compiler's words, control characters stripped, capped at 64 KiB
  std::vector<KernelFacts> kernels;
  std::string nvrtc_version;  ///< "13.0"
  bool cache_hit = false;
  double compile_ms = 0;  ///< wall time in the worker; as stored for a cache hit

  /// Where only the cubin is needed from here on: PTX is a third of what an evaluation in flight holds.
  void drop_ptx() { dropped_ptx_bytes = std::exchange(ptx, {}).size(); }
};

/// Whether `text` has only what a C++ name with template arguments is made of: letters, digits, `_`, blanks and
/// `:<>,()*&+-/=!?|^~.`, and no `??`. The compiler pastes names into the source, so that a line end, `#`, `\`, or what
/// stands for them (`%:`, `??=`), would be code there.
[[nodiscard]] bool is_name_expression(std::string_view text);

[[nodiscard]] Json to_json(const TranslationUnit& unit);
[[nodiscard]] TranslationUnit translation_unit_from_json(const Json& json);
[[nodiscard]] Json to_json(const BuildResult& result);  ///< cubin as base64
[[nodiscard]] BuildResult build_result_from_json(const Json& json);

/// Active blocks per SM and resulting occupancy, from limits and kernel facts (CUDA Occupancy Calculator's
/// rules: registers allocated per warp in units of 256, warps in multiples of 4 per SM, shared memory in
/// 128-byte units plus 1 KiB reserved per block on compute capability 8.0 and later).
struct Occupancy {
  int blocks_per_sm = 0;
  double ratio = 0;     ///< active warps / maximum warps
  std::string limiter;  ///< "registers", "shared memory", "block size", "blocks"
};
[[nodiscard]] Occupancy occupancy(const ArchLimits& limits, const KernelFacts& kernel, int threads_per_block,
                                  int dynamic_shared_bytes);

}  // namespace ak
