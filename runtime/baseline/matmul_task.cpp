// SPDX-License-Identifier: Apache-2.0
#include "runtime/baseline/matmul_task.h"

#include "runtime/baseline/library_task.h"

namespace ak::runtime {

Result<MatmulTask> matmul_task(const OpenProblem& problem, const WorkloadLayout& workload) {
  const auto a = find_tensor(problem, "a"), b = find_tensor(problem, "b"), c = find_tensor(problem, "c");
  if (!a || !b || !c) return InputError{"it needs matrices called a, b and c"};
  for (const char* more : {"residual", "row_scales", "seed", "c_scale"}) {
    if (find_tensor(problem, more))
      return InputError{"it adds a bias and applies an activation, and nothing else"};
  }
  MatmulTask task{.m = 0,
                  .n = 0,
                  .k = 0,
                  .input = problem.tensors[*a].dtype,
                  .output = problem.tensors[*c].dtype,
                  .a_by_columns = param_or(problem, "a_layout", "row") == "column",
                  .b_by_columns = param_or(problem, "b_layout", "row") == "column",
                  .tf32 = param_or(problem, "precision", "ieee") == "tf32",
                  .bias = find_tensor(problem, "bias").has_value(),
                  .activation = param_or(problem, "activation", "none")};
  const auto &sa = workload.shapes.at(*a), &sb = workload.shapes.at(*b), &sc = workload.shapes.at(*c);
  if (sa.size() != 2 || sb.size() != 2 || sc.size() != 2) return InputError{"a, b and c must be matrices"};
  task.m = sc[0];
  task.n = sc[1];
  task.k = sa[task.a_by_columns ? 0 : 1];
  const bool fits = sa[task.a_by_columns ? 1 : 0] == task.m && sb[task.b_by_columns ? 1 : 0] == task.k &&
                    sb[task.b_by_columns ? 0 : 1] == task.n && problem.tensors[*b].dtype == task.input;
  if (!fits) return InputError{"a, b and c do not have the shapes and types of a product"};
  return task;
}

}  // namespace ak::runtime
