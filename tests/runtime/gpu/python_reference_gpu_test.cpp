// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <vector>

#include "runtime/cuda/device_context.h"
#include "runtime/reference/tensor_exchange.h"
#include "tests/support/needs_pytorch.h"
#include "tests/support/sandbox.h"
#include "tests/support/started_reference.h"

namespace ak::testing {
namespace {

TEST_CASE("a confined reference process computes on the GPU, and opens no connection from there") {
  const auto python = pytorch_here();
  if (!python) return;
  runtime::ReferenceStarter starter;
  StartedReference started(*python, {}, true, nullptr, starter_or_none(starter, *python));
  REQUIRE(started.open("import torch\ndef run(x):\n  return x + 1\n"));
  const auto answer = started.compute();
  REQUIRE(answer);
  CHECK(answer->at("notes").dump() == "[]");
  CHECK(started.refusal_of("assert x.is_cuda; return x + 1") == "");
  CHECK_THAT(started.refusal_of("import socket; socket.socket(); return x + 1"),
             Catch::Contains("a reference may write no files, open no sockets"));
}

/// Floats that differ from slice to slice, and whose successors are floats.
std::vector<float> numbered(std::size_t count) {
  constexpr std::size_t kPrime = 1'000'003;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % kPrime);
  return values;
}

TEST_CASE("tensors of many slices go to a reference process and back through memory of the GPU") {
  const auto python = pytorch_here();
  if (!python) return;
  const runtime::DeviceContext context(0);
  runtime::DeviceExchange memory(std::size_t{256} << 20);
  runtime::ReferenceStarter starter;
  StartedReference started(*python, {}, true, &memory, starter_or_none(starter, *python));
  CHECK(started.process.facts().at("exchange") == "device");
  runtime::TensorExchange exchange(started.process, nullptr);
  exchange.use(memory);

  // Neither whole slices nor whole pages.
  const std::size_t count = 2 * memory.bytes() / sizeof(float) + 12'345, bytes = count * sizeof(float);
  std::vector<float> values = numbered(count);
  const runtime::DeviceBuffer x(bytes, "x"), y(bytes, "y");
  runtime::check(runtime::driver().cuMemcpyHtoDAsync(x.address(), values.data(), bytes, nullptr),
                 "writing x");
  REQUIRE(started.open("def run(x):\n  return x + 1\n"));
  REQUIRE(started.select(count));
  CHECK_FALSE(exchange.send(0, x.view()));
  REQUIRE(started.compute_twin());
  CHECK_FALSE(exchange.receive("get", 1, y.view()));
  std::vector<float> results(count);
  runtime::check(runtime::driver().cuMemcpyDtoH(results.data(), y.address(), bytes), "reading y");
  for (float& value : values) value += 1;
  CHECK(results == values);
}

/// Sums of rows: with 2 Mi rows of 2 Ki floats an input of 17 GB, as the largest task of KernelBench's level 1 has.
constexpr const char* kLargeTask =
    "import torch\nROWS = 2097152\nCOLUMNS = 2048\n"
    "class Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.sum(x, 1)\n"
    "def get_inputs():\n    return [torch.rand(ROWS, COLUMNS)]\n"
    "def get_init_inputs():\n    return []\n";

TEST_CASE("a task with an input of 17 GB is checked and timed on one GPU") {
  if (!pytorch_here()) return;
  constexpr std::int64_t kNeeded =
      75'000'000'000;  // the input, and what the reference makes of it in float64
  if (runtime::DeviceContext(0).facts().memory_bytes < kNeeded) {
    WARN("skipped: this GPU has less than 75 GB of memory");
    return;
  }
  Sandbox box;
  const std::string folder = (box.folder / "made").string();
  const ProgramResult made =
      box.run({"problem", "new", folder, "--from-python", box.write("model.py", kLargeTask)});
  INFO(made.out << made.err);
  REQUIRE(made.exit_code == 0);
  const ProgramResult evaluated =
      box.run({"evaluate", folder + "/start.cu", "--problem", folder, "--arch", "native", "--unaudited"});
  INFO(evaluated.out << evaluated.err);
  CHECK(evaluated.exit_code == 0);
  CHECK_THAT(evaluated.out, Catch::Contains("given") && Catch::Contains("GB/s"));
}

}  // namespace
}  // namespace ak::testing
