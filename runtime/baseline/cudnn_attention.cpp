// SPDX-License-Identifier: Apache-2.0
#include "runtime/baseline/cudnn_attention.h"

#if __has_include(<cudnn_graph.h>)

#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace ak::runtime {
namespace {

using Numbers = std::array<std::int64_t, 4>;
using Tensor = const CudnnDescriptor&;

/// Ids of the tensors that are handed over; those between operations are numbered on.
enum Id : std::int64_t { kQ = 1, kK, kV, kO, kLse, kScale, kMaskedScore, kFirstBetween };
constexpr std::string_view kNames[] = {"", "q", "k", "v", "o", "lse"};

// The library's kernels load 16 bytes at once; our tensors start at a multiple of kBufferAlignment.
constexpr std::int64_t kAlignment = 16;
// Weighs nothing, as every query sees a key; versions before 9.10 prefer it to -inf.
constexpr float kMasked = std::numeric_limits<float>::lowest();

Numbers packed(const Numbers& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
}

/// Of a tensor of batches x heads x lines x elements.
Numbers strides(const AttentionTask& task, const Numbers& shape) {
  if (!task.by_tokens) return packed(shape);
  return {shape[1] * shape[2] * shape[3], shape[3], shape[1] * shape[3], 1};
}

struct Pointwise {
  cudnnPointwiseMode_t mode;
  const CudnnDescriptor *x = nullptr, *b = nullptr, *condition = nullptr;
  cudnnDataType_t math = CUDNN_DATA_FLOAT;
  std::optional<std::int64_t> axis = std::nullopt;  ///< of gen_index
};

/// Builds operations in the order and form in which the library's fused attention expects them: any other
/// graph with the same result has no engine.
class Builder {
 public:
  explicit Builder(const AttentionTask& task)
      : task_(task),
        io_(task.dtype == DType::float16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16),
        scores_{task.batches, task.heads, task.queries, task.keys},
        rows_{task.batches, task.heads, task.queries, 1} {}

  void attention() {
    const Numbers q{task_.batches, task_.heads, task_.queries, task_.head_dim};
    const Numbers k{task_.batches, task_.key_heads, task_.keys, task_.head_dim};
    const Numbers q_strides = strides(task_, q), k_strides = strides(task_, k);
    const Numbers turned{k[0], k[1], k[3], k[2]};
    Tensor scores = between(scores_);
    matmul(tensor(kQ, io_, q, q_strides),
           tensor(kK, io_, turned, {k_strides[0], k_strides[1], k_strides[3], k_strides[2]}), scores);
    Tensor scaled = pointwise({.mode = CUDNN_POINTWISE_MUL, .x = &scores, .b = &by_value(kScale)});
    Tensor probabilities = softmax(task_.causal ? causal(scaled) : scaled);
    matmul(probabilities, tensor(kV, io_, k, k_strides), tensor(kO, io_, q, q_strides));
  }

  std::deque<CudnnDescriptor> parts;  ///< a deque: they stay where they are
  std::vector<CudnnDescriptor> operations;

 private:
  CudnnDescriptor& part(cudnnBackendDescriptorType_t type, std::string what) {
    return parts.emplace_back(type, std::move(what));
  }

  CudnnDescriptor& describe(std::int64_t id, cudnnDataType_t type, const Numbers& shape,
                            const Numbers& strides) {
    return part(CUDNN_BACKEND_TENSOR_DESCRIPTOR, fmt::format("tensor {}", id))
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
        .set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(shape))
        .set_all(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(strides))
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  }
  Tensor tensor(std::int64_t id, cudnnDataType_t type, const Numbers& shape, const Numbers& strides) {
    return describe(id, type, shape, strides).finalize();
  }
  /// A tensor between two operations, which is never in memory.
  Tensor between(const Numbers& shape, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return describe(next_++, type, shape, packed(shape)).set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true).finalize();
  }
  Tensor by_value(std::int64_t id) {
    return describe(id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1})
        .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true)
        .finalize();
  }

  void matmul(Tensor a, Tensor b, Tensor c) {
    const CudnnDescriptor& kind = part(CUDNN_BACKEND_MATMUL_DESCRIPTOR, "a product's type")
                                      .set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT)
                                      .finalize();
    operations.emplace_back(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "a product")
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind)
        .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c)
        .finalize();
  }

  void pointwise(const Pointwise& operation, Tensor y) {
    const std::string what = fmt::format("pointwise operation {}", static_cast<int>(operation.mode));
    CudnnDescriptor& kind = part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "the type of " + what)
                                .set(CUDNN_ATTR_POINTWISE_MODE, operation.mode)
                                .set(CUDNN_ATTR_POINTWISE_MATH_PREC, operation.math);
    if (operation.axis) kind.set(CUDNN_ATTR_POINTWISE_AXIS, *operation.axis);
    CudnnDescriptor& made = operations.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, what)
                                .set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind.finalize())
                                .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *operation.x)
                                .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    if (operation.b != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *operation.b);
    if (operation.condition != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *operation.condition);
    made.finalize();
  }
  /// With a result as large as the scores, of `type`.
  Tensor pointwise(const Pointwise& operation, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    Tensor y = between(scores_, type);
    pointwise(operation, y);
    return y;
  }

  Tensor reduce(cudnnReduceTensorOp_t by, Tensor x) {
    Tensor y = between(rows_);
    const CudnnDescriptor& kind = part(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "a reduction's type")
                                      .set(CUDNN_ATTR_REDUCTION_OPERATOR, by)
                                      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT)
                                      .finalize();
    operations.emplace_back(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "a reduction")
        .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y)
        .finalize();
    return y;
  }

  Tensor index(Tensor scores, std::int64_t axis) {
    return pointwise({.mode = CUDNN_POINTWISE_GEN_INDEX, .x = &scores, .axis = axis}, CUDNN_DATA_INT32);
  }
  Tensor causal(Tensor scores) {
    Tensor query = index(scores, 2);
    Tensor key = index(scores, 3);
    Tensor seen =
        pointwise({.mode = CUDNN_POINTWISE_CMP_GE, .x = &query, .b = &key, .math = CUDNN_DATA_BOOLEAN},
                  CUDNN_DATA_BOOLEAN);
    return pointwise({.mode = CUDNN_POINTWISE_BINARY_SELECT,
                      .x = &scores,
                      .b = &by_value(kMaskedScore),
                      .condition = &seen});
  }
  /// Probabilities in the type of v; writes lse.
  Tensor softmax(Tensor scores) {
    Tensor largest = reduce(CUDNN_REDUCE_TENSOR_MAX, scores);
    Tensor below = pointwise({.mode = CUDNN_POINTWISE_SUB, .x = &scores, .b = &largest});
    Tensor powers = pointwise({.mode = CUDNN_POINTWISE_EXP, .x = &below});
    Tensor sum = reduce(CUDNN_REDUCE_TENSOR_ADD, powers);
    Tensor log_of_sum = between(rows_);
    pointwise({.mode = CUDNN_POINTWISE_LOG, .x = &sum}, log_of_sum);
    pointwise({.mode = CUDNN_POINTWISE_ADD, .x = &largest, .b = &log_of_sum},
              tensor(kLse, CUDNN_DATA_FLOAT, rows_, packed(rows_)));
    return pointwise({.mode = CUDNN_POINTWISE_DIV, .x = &powers, .b = &sum}, io_);
  }

  const AttentionTask& task_;
  cudnnDataType_t io_;
  Numbers scores_, rows_;
  std::int64_t next_ = kFirstBetween;
};

}  // namespace

CudnnAttention::CudnnAttention(const AttentionTask& task)
    : causal_(task.causal), scale_(1 / std::sqrt(static_cast<float>(task.head_dim))) {
  Builder builder(task);
  builder.attention();
  parts_ = std::move(builder.parts);
  operations_ = std::move(builder.operations);
}

CudnnDescriptor CudnnAttention::graph(cudnnHandle_t handle) const {
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "the graph");
  graph.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle).finalize();
  return graph;
}

CudnnDescriptor CudnnAttention::variant_pack(const AddressTable& addresses, CUdeviceptr workspace) const {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  const auto add = [&](std::int64_t id, void* pointer) {
    ids.push_back(id);
    pointers.push_back(pointer);
  };
  for (const std::int64_t id : {kQ, kK, kV, kO, kLse})
    add(id, reinterpret_cast<void*>(addresses.find(kNames[id])->second.address));
  // Numbers are handed over in host memory, which the library only reads.
  add(kScale, const_cast<float*>(&scale_));
  if (causal_) add(kMaskedScore, const_cast<float*>(&kMasked));
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "the tensors of a call");
  pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(ids))
      .set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(pointers))
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, reinterpret_cast<void*>(workspace))
      .finalize();
  return pack;
}

}  // namespace ak::runtime

#endif
