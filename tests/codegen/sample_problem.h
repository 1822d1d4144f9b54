// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "codegen/problem/problem_catalog.h"

namespace ak::testing {

/// A problem folder of one axis, written to a temporary folder that is removed at the end.
class SampleProblem {
 public:
  SampleProblem() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ak_problem_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    json = parse_json(R"({
      "name": "scale", "summary": "y = 2 x", "op_type": "elementwise",
      "params": {"dtype": {"type": "choice", "choices": ["float32", "bfloat16"], "default": "float32", "help": "element type"},
                 "head_dim": {"type": "integer", "choices": [64, 128], "default": 64, "help": "a size"},
                 "causal": {"type": "boolean", "default": false, "help": "a switch"}},
      "definition": {"name": "scale_d{head_dim}_{dtype}_{causal}",
        "axes": {"N": {"type": "var"}, "D": {"type": "const", "value": "head_dim"}},
        "inputs": {"x": {"shape": ["N", "D"], "dtype": "dtype"}}, "outputs": {"y": {"shape": ["N", "D"], "dtype": "dtype"}},
        "constraints": ["N <= 1000"]},
      "flops": "N * D", "bytes_read": "N * D * sizeof_x", "bytes_written": "N * D * sizeof_y",
      "tolerance": {"reason": "exact"}, "distributions": [{"name": "normal", "kind": "normal"}],
      "reference": "def run(x):\n    return 2 * x\n"})");
    workloads = R"({"name": "small", "axes": {"N": 3}, "role": "check"})"
                "\n"
                R"({"name": "big", "axes": {"N": 1000}, "role": ["check", "time"]})"
                "\n";
    reference =
        "/* alphakernel {\"launches\": [{\"kernel\": \"k\", \"grid\": [\"N\"], \"block\": [\"D\"], \"args\": "
        "[\"x\", \"y\"]}]} */\n"
        "__global__ void k(const scalar_t* x, out_t* y) {\n"
        "  int i = blockIdx.x * D + threadIdx.x;\n  y[i] = out_t(accum_t(float(x[i])) * accum_t(2));\n}\n";
  }
  ~SampleProblem() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  SampleProblem(const SampleProblem&) = delete;
  SampleProblem& operator=(const SampleProblem&) = delete;

  /// Writes the folder and reads it back.
  std::shared_ptr<const ProblemInstance> instantiate(
      const std::map<std::string, std::string>& given = {}) const {
    write();
    const codegen::Problem problem = codegen::load_problem(folder_);
    return codegen::instantiate(problem, codegen::choose_params(problem, given));
  }
  void write() const {
    put("problem.json", json.dump(2));
    put("workloads.jsonl", workloads);
    put("reference.cu", reference);
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  Json json;
  std::string workloads, reference;

 private:
  std::filesystem::path folder_;
};

}  // namespace ak::testing
