// SPDX-License-Identifier: Apache-2.0
#include "runtime/baseline/attention_task.h"

#include <fmt/format.h>

#include "runtime/baseline/library_task.h"

namespace ak::runtime {
namespace {

using Shape = std::vector<std::int64_t>;

bool fits(const AttentionTask& task, const Shape& q, const Shape& k, const Shape& v, const Shape& o,
          const Shape& lse) {
  const Shape keys = task.by_tokens ? Shape{task.batches, task.keys, task.key_heads, task.head_dim}
                                    : Shape{task.batches, task.key_heads, task.keys, task.head_dim};
  return q == o && k == keys && v == keys && lse == Shape{task.batches, task.heads, task.queries} &&
         task.heads % task.key_heads == 0;
}

}  // namespace

Result<AttentionTask> attention_task(const OpenProblem& problem, const WorkloadLayout& workload) {
  const auto q = find_tensor(problem, "q"), k = find_tensor(problem, "k"), v = find_tensor(problem, "v"),
             o = find_tensor(problem, "o"), lse = find_tensor(problem, "lse");
  if (!q || !k || !v || !o || !lse) return InputError{"it needs tensors called q, k, v, o and lse"};
  if (problem.tensors.size() != 5) return InputError{"it knows no tensors but q, k, v, o and lse"};
  for (const char* param : {"window", "softcap"})
    if (param_or(problem, param, "0") != "0") return InputError{fmt::format("it knows no param {}", param)};
  const Shape &sq = workload.shapes.at(*q), &sk = workload.shapes.at(*k);
  if (sq.size() != 4 || sk.size() != 4) return InputError{"q and k must have four axes"};
  const bool by_tokens = param_or(problem, "layout", "heads") == "tokens";
  const std::size_t heads = by_tokens ? 2 : 1, lines = by_tokens ? 1 : 2;  // axes
  const AttentionTask task{.batches = sq[0],
                           .heads = sq[heads],
                           .key_heads = sk[heads],
                           .queries = sq[lines],
                           .keys = sk[lines],
                           .head_dim = sq[3],
                           .dtype = problem.tensors[*q].dtype,
                           .causal = param_or(problem, "causal", "0") == "1",
                           .by_tokens = by_tokens};
  if (!fits(task, sq, sk, workload.shapes.at(*v), workload.shapes.at(*o), workload.shapes.at(*lse)))
    return InputError{"q, k, v, o and lse do not have the shapes of an attention"};
  const auto type = [&](std::size_t tensor) { return problem.tensors[tensor].dtype; };
  if (type(*k) != task.dtype || type(*v) != task.dtype || type(*o) != task.dtype ||
      type(*lse) != DType::float32)
    return InputError{"q, k, v and o must be of one type, and lse of float32"};
  if (task.causal && task.queries != task.keys)
    return InputError{fmt::format(
        "its causal mask is another one where there are {} queries and {} keys: they must be as many",
        task.queries, task.keys)};
  return task;
}

}  // namespace ak::runtime
