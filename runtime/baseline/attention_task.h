// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/result.h"
#include "runtime/process/device_messages.h"

namespace ak::runtime {

/// o = softmax(q k^T / sqrt(head_dim)) v and the logarithms of the softmax's sums, every tensor packed.
struct AttentionTask {
  std::int64_t batches = 0, heads = 0, key_heads = 0, queries = 0, keys = 0, head_dim = 0;
  DType dtype = DType::bfloat16;  ///< of q, k, v and o; sums and their logarithms are float32
  bool causal = false;            ///< query i sees the keys j <= i; there are as many keys as queries
  bool by_tokens = false;         ///< a token's heads are neighbours, else a head's tokens
};

/// Reads a workload of a problem shaped like flash_attention: inputs q [B, H, S, D], k and v [B, G, T, D],
/// outputs o [B, H, S, D] and lse [B, H, S] (float32), and the params causal and layout where there are any: in
/// the layout tokens q and o are [B, S, H, D], k and v [B, T, G, D]. The error says what is missing; a causal
/// mask with S != T, whose corner libraries place elsewhere, is one, and so are other tensors and the params
/// window and softcap, which make it another attention.
[[nodiscard]] Result<AttentionTask> attention_task(const OpenProblem& problem,
                                                   const WorkloadLayout& workload);

}  // namespace ak::runtime
