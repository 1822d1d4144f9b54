// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/baseline/cudnn_api.h"

#if __has_include(<cudnn_graph.h>)

#include <deque>
#include <vector>

#include "runtime/baseline/attention_task.h"
#include "runtime/cuda/launch.h"

namespace ak::runtime {

/// Forward attention as a graph of cuDNN's operations.
class CudnnAttention {
 public:
  /// Throws CudnnError where the library refuses a part.
  explicit CudnnAttention(const AttentionTask& task);

  /// The finalized operation graph; valid as long as this object.
  [[nodiscard]] CudnnDescriptor graph(cudnnHandle_t handle) const;
  /// What a plan of the graph runs on: the task's tensors at `addresses`. Throws CudnnError.
  [[nodiscard]] CudnnDescriptor variant_pack(const AddressTable& addresses, CUdeviceptr workspace) const;

 private:
  std::deque<CudnnDescriptor> parts_;  ///< what operations_ refer to
  std::vector<CudnnDescriptor> operations_;
  bool causal_;
  float scale_;
};

}  // namespace ak::runtime

#endif
