// SPDX-License-Identifier: Apache-2.0
// AlphaKernel in a program of your own: look at a problem, evaluate a kernel, search for a faster one, ask the
// database. Everything runs on the CPU device, so that no GPU is needed.
//
//   library_example DATABASE
#include <alphakernel/library.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <variant>

namespace {

const char* const kKernel = R"cu(/* alphakernel
{"launches": [{"kernel": "add", "grid": ["ceil_div(N, 256)"], "block": [256],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void add(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
)cu";

void show_problem(alphakernel::Library& library) {
  alphakernel::ShowProblemRequest request;
  request.problem = "vector_add";
  const alphakernel::ShowProblemAnswer problem = library.show_problem(request);
  std::printf("%s: %s (%zu templates)\n", problem.name.c_str(), problem.summary.c_str(),
              problem.templates.size());
}

bool evaluate(alphakernel::Library& library) {
  alphakernel::EvaluateRequest request;
  request.source = kKernel;
  request.problem = "vector_add";
  request.shape["N"] = 1000;
  request.device = "emulator";
  request.arch = "sm_80";
  const alphakernel::EvaluateAnswer answer = library.evaluate(request);
  std::printf("evaluated: %s, %lld of %lld checks passed, estimated cost %.3g us\n", answer.status.c_str(),
              static_cast<long long>(answer.checks.passed), static_cast<long long>(answer.checks.of),
              answer.emulated_cost_us.value_or(0));
  return answer.ok;
}

bool search(alphakernel::Library& library) {
  alphakernel::SearchRequest request;
  request.problem = "vector_add";
  request.shape["N"] = 1000;
  request.device = "emulator";
  request.arch = "sm_80";
  request.seed = 7;
  std::atomic<bool> stop{false};
  alphakernel::Callbacks callbacks;
  callbacks.on_progress = [&](const alphakernel::Progress& progress) {
    std::printf("  %lld evaluated, %lld verified\n", static_cast<long long>(progress.evaluated),
                static_cast<long long>(progress.verified));
    if (progress.evaluated >= 3) stop = true;  // enough for an example
  };
  callbacks.on_new_best = [](const alphakernel::NewBest& best) {
    std::printf("  new best: %s, %.3g us\n", best.template_.c_str(), best.emulated_cost_us.value_or(0));
  };
  callbacks.stop = &stop;
  const alphakernel::SearchAnswer answer = library.search(request, callbacks);
  if (answer.best) std::printf("found variant %lld\n", static_cast<long long>(answer.best->variant));
  return answer.ok;
}

bool query(alphakernel::Library& library) {
  alphakernel::QueryRequest request;
  request.sql = "SELECT status, count(*) FROM evaluations GROUP BY status ORDER BY status";
  const alphakernel::QueryAnswer answer = library.query(request);
  for (const auto& row : answer.rows)
    std::printf("%s: %lld\n", std::get<std::string>(row[0]).c_str(),
                static_cast<long long>(std::get<std::int64_t>(row[1])));
  return !answer.rows.empty();
}

}  // namespace

int main(int argc, char** argv) {
  alphakernel::Options options;
  if (argc > 1) options.database = argv[1];
  try {
    alphakernel::Library library(options);
    show_problem(library);
    return evaluate(library) && search(library) && query(library) ? 0 : 1;
  } catch (const alphakernel::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
