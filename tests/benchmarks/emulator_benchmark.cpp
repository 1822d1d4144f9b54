// SPDX-License-Identifier: Apache-2.0
// How fast the CPU device is, on one core: emulator_benchmark --help.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/text/json.h"
#include "tests/benchmarks/emulator_work.h"

namespace ak::benchmark {
namespace {

constexpr const char* kHelp =
    "usage: emulator_benchmark [--quick] [--json] [--repetitions N] [--only TEXT]\n"
    "Runs the shipped templates and matrix products on the CPU device, on one core, and prints million "
    "thread\n"
    "instructions per second (lanes that executed an instruction): with checks off, on, and on with counts "
    "of\n"
    "memory traffic. Times are CPU times of the thread, the best of N repetitions (default 5).\n"
    "  --quick      tiny shapes, once: only shows that it works\n"
    "  --only TEXT  kernels whose name contains it\n";

struct Options {
  bool quick = false, json = false;
  int repetitions = 5;
  std::string only;
};

Options read_options(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const bool has_value = i + 1 < count;
    if (argument == "--quick") {
      options.quick = true;
      options.repetitions = 1;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--repetitions" && has_value) {
      options.repetitions = std::max(1, std::atoi(arguments[++i]));
    } else if (argument == "--only" && has_value) {
      options.only = arguments[++i];
    } else {
      std::fputs(kHelp, argument == "--help" ? stdout : stderr);
      std::exit(argument == "--help" ? 0 : static_cast<int>(ExitCode::usage));
    }
  }
  return options;
}

struct Mode {
  const char* name;
  emulator::LaunchOptions options;
};
const Mode kModes[] = {{"off", {.check = false}},
                       {"checked", {.check = true}},
                       {"counted", {.check = true, .count_memory = true}}};
constexpr std::size_t kModeCount = std::size(kModes);

struct Row {
  std::string name;
  std::array<Sample, kModeCount> best;
  [[nodiscard]] double rate(std::size_t mode) const {  ///< thread instructions per second
    return static_cast<double>(best[mode].thread_instructions) / best[mode].time_ns * 1e9;
  }
  [[nodiscard]] double fma_rate(std::size_t mode) const {
    return static_cast<double>(best[mode].tensor_fmas) / best[mode].time_ns * 1e9;
  }
};

Row measure(Work& work, int repetitions) {
  Row row{.name = work.name(), .best = {}};
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t mode = 0; mode < kModeCount; ++mode) {
      const Sample sample = work.execute(kModes[mode].options);
      if (sample.thread_instructions != row.best[0].thread_instructions && repetition + mode > 0)
        fail(ExitCode::environment, "{}: executions differ", row.name);
      if (repetition == 0 || sample.time_ns < row.best[mode].time_ns) row.best[mode] = sample;
    }
  }
  return row;
}

std::vector<Row> measure_all(const std::vector<WorkFactory>& works, const Options& options) {
  std::vector<Row> rows;
  for (const WorkFactory& factory : works) {
    if (factory.name.find(options.only) == std::string::npos) continue;
    Work work = factory.make();
    rows.push_back(measure(work, options.repetitions));
  }
  return rows;
}

double geometric_mean(const std::vector<Row>& rows, std::size_t mode) {
  double sum = 0;
  for (const Row& row : rows) sum += std::log(row.rate(mode));
  return rows.empty() ? 0 : std::exp(sum / static_cast<double>(rows.size()));
}

struct Results {
  std::vector<Row> templates, tensor;
  double toy_rate = 0;  ///< lanes per second
};

void print_templates(const Results& results) {
  fmt::print("{:<80} {:>9} {:>8} {:>8} {:>8} {:>8} {:>7}\n", "million thread instructions per second",
             "millions", "ms off", "off", "checked", "counted", "ns/warp");
  for (const Row& row : results.templates) {
    fmt::print("{:<80} {:>9.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>7.1f}\n", row.name,
               static_cast<double>(row.best[0].thread_instructions) / 1e6, row.best[0].time_ns / 1e6,
               row.rate(0) / 1e6, row.rate(1) / 1e6, row.rate(2) / 1e6,
               row.best[0].time_ns / static_cast<double>(row.best[0].warp_instructions));
  }
  const double off = geometric_mean(results.templates, 0);
  fmt::print("{:<80} {:>9} {:>8} {:>8.1f} {:>8.1f} {:>8.1f}\n", "geometric mean", "", "", off / 1e6,
             geometric_mean(results.templates, 1) / 1e6, geometric_mean(results.templates, 2) / 1e6);
  fmt::print("{:<80} {:>9} {:>8} {:>8.1f}  ({:.1f} times the geometric mean, checks off)\n",
             "limit: f32 FMAs over rows of 32 lanes, not interpreted", "", "", results.toy_rate / 1e6,
             results.toy_rate / off);
}

void print_tensor(const Results& results) {
  fmt::print("\n{:<80} {:>9} {:>8} {:>8} {:>8} {:>8}\n", "billion tensor FMAs per second", "millions",
             "ms off", "off", "checked", "counted");
  for (const Row& row : results.tensor) {
    fmt::print("{:<80} {:>9.1f} {:>8.1f} {:>8.2f} {:>8.2f} {:>8.2f}\n", row.name,
               static_cast<double>(row.best[0].tensor_fmas) / 1e6, row.best[0].time_ns / 1e6,
               row.fma_rate(0) / 1e9, row.fma_rate(1) / 1e9, row.fma_rate(2) / 1e9);
  }
}

void print_table(const Results& results) {
  if (!results.templates.empty()) print_templates(results);
  if (!results.tensor.empty()) print_tensor(results);
}

Json to_json(const Row& row) {
  Json json{{"name", row.name},
            {"thread_instructions", row.best[0].thread_instructions},
            {"warp_instructions", row.best[0].warp_instructions},
            {"tensor_fmas", row.best[0].tensor_fmas}};
  for (std::size_t mode = 0; mode < kModeCount; ++mode)
    json[fmt::format("{}_ns", kModes[mode].name)] = row.best[mode].time_ns;
  return json;
}

Json to_json(const Results& results) {
  Json json{{"templates", Json::array()}, {"tensor", Json::array()}, {"toy_lanes_per_s", results.toy_rate}};
  for (const Row& row : results.templates) json["templates"].push_back(to_json(row));
  for (const Row& row : results.tensor) json["tensor"].push_back(to_json(row));
  for (std::size_t mode = 0; mode < kModeCount; ++mode)
    json[fmt::format("{}_per_s", kModes[mode].name)] = geometric_mean(results.templates, mode);
  return json;
}

runtime::Compiler make_compiler() {
  const auto toolkit = runtime::find_cuda_toolkit();
  if (!toolkit) fail(ExitCode::environment, "no CUDA toolkit was found");
  const auto nvrtc = runtime::load_nvrtc(toolkit->nvrtc_library);
  if (!nvrtc) fail(ExitCode::environment, "NVRTC cannot be loaded");
  return runtime::Compiler(*nvrtc, *toolkit);
}

void run(const Options& options) {
  runtime::Compiler compiler = make_compiler();
  Results results;
  results.templates = measure_all(template_works(compiler, options.quick), options);
  results.tensor = measure_all(tensor_works(compiler, options.quick), options);
  for (int i = 0; i < options.repetitions; ++i)
    results.toy_rate = std::max(results.toy_rate, toy_loop_rate(options.quick ? 10 : 100'000));
  if (options.json)
    fmt::print("{}\n", to_json(results).dump(2));
  else
    print_table(results);
}

}  // namespace
}  // namespace ak::benchmark

int main(int count, char** arguments) {
  const auto options = ak::benchmark::read_options(count, arguments);
  try {
    ak::benchmark::run(options);
  } catch (const ak::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
