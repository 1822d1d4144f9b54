// SPDX-License-Identifier: Apache-2.0
// Calls that NVRTC cannot inline: recursion, virtual functions, tables of functions, and what is said of faults
// inside them.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/emulator/programs/cuda_program.h"

namespace ak::emulator::test {
namespace {

constexpr std::uint32_t kCallThreads = 64;

LaunchRequest one_block() {
  LaunchRequest request;
  request.block = {kCallThreads, 1, 1};
  return request;
}

/// One int for each thread of a block.
std::vector<std::int32_t> run(const std::string& source, const std::string& kernel = "k",
                              std::uint64_t seed = 0) {
  CudaProgram program(source, kernel);
  const std::uint64_t out = program.memory(kCallThreads * 4);
  program.argument(out);
  LaunchRequest request = one_block();
  request.options.seed = seed;
  static_cast<void>(program.launch_cleanly(request));
  return program.download<std::int32_t>(out, kCallThreads);
}

template <class F>
std::vector<std::int32_t> by_thread(F f) {
  std::vector<std::int32_t> values;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(kCallThreads); ++i) values.push_back(f(i));
  return values;
}

int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

constexpr const char* kRecursive = R"cuda(
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void k(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

__device__ __noinline__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 || is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n != 0 && is_even(n - 1); }
extern "C" __global__ void mutual(int* out) { out[threadIdx.x] = is_even(threadIdx.x % 20) ? 1 : 0; }

// Every call has an array of its own, of which the next one changes a part.
__device__ __noinline__ int walk(int* outer, int depth) {
  int mine[4];
  for (int i = 0; i < 4; ++i) mine[i] = depth * (i + 1);
  if (outer != nullptr) outer[depth & 3] += 1000;
  if (depth > 0) walk(mine, depth - 1);
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += mine[i];
  if (depth > 0) sum += walk(nullptr, depth - 1);
  return sum;
}
extern "C" __global__ void arrays(int* out) { out[threadIdx.x] = walk(nullptr, threadIdx.x % 5); }

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void divergent(int* out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 4); }
)cuda";

int walk(int* outer, int depth) {
  int mine[4];
  for (int i = 0; i < 4; ++i) mine[i] = depth * (i + 1);
  if (outer != nullptr) outer[depth & 3] += 1000;
  if (depth > 0) walk(mine, depth - 1);
  int sum = 0;
  for (const int value : mine) sum += value;
  if (depth > 0) sum += walk(nullptr, depth - 1);
  return sum;
}

constexpr const char* kPointers = R"cuda(
using Operation = int (*)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int times(int a, int b) { return a * b; }
__device__ Operation table[] = {plus, minus, times};
extern "C" __global__ void k(int* out) { out[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x, 7); }
extern "C" __global__ void one(int* out) { out[threadIdx.x] = table[blockDim.x % 3](threadIdx.x, 7); }
extern "C" __global__ void without(int* out) { out[threadIdx.x] = threadIdx.x; }

__device__ Operation chosen;
extern "C" __global__ void stores(int* out) {
  if (threadIdx.x == 0) chosen = times;
  __syncthreads();
  out[threadIdx.x] = chosen(threadIdx.x, 3);
}

// One of the functions calls through the table again.
extern __device__ Operation deep[2];
__device__ int halves(int a, int b) { return a < 2 ? a : deep[a & 1](a / 2, b) + 1; }
__device__ int adds(int a, int b) { return a < 2 ? b : deep[a & 1](a / 2, b) + a; }
__device__ Operation deep[] = {halves, adds};
extern "C" __global__ void nested(int* out) { out[threadIdx.x] = deep[threadIdx.x & 1](threadIdx.x, 5); }
)cuda";

int nested(bool adds, int a, int b) {
  if (a < 2) return adds ? b : a;
  return nested((a & 1) != 0, a / 2, b) + (adds ? a : 1);
}

constexpr const char* kVirtual = R"cuda(
struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
  __device__ virtual int scaled(int by) const { return area() * by; }
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Box : Shape {
  int width, height;
  __device__ Box(int w, int h) : width(w), height(h) {}
  __device__ int area() const override { return width * height; }
  __device__ int scaled(int by) const override { return Shape::scaled(by) + 1; }
};
__device__ __noinline__ int measure(const Shape& shape) { return shape.scaled(2); }
extern "C" __global__ void k(int* out) {
  const int i = threadIdx.x;
  Square square(i);
  Box box(i, 3);
  out[i] = i % 2 == 0 ? measure(square) : measure(box);
}
)cuda";

}  // namespace

TEST_CASE("recursive functions keep the values and arrays of every call") {
  for (const std::uint64_t seed : {0ull, 3ull}) {
    CHECK(run(kRecursive, "k", seed) == by_thread([](int i) { return fibonacci(i % 12); }));
    CHECK(run(kRecursive, "mutual", seed) == by_thread([](int i) { return i % 20 % 2 == 0 ? 1 : 0; }));
    CHECK(run(kRecursive, "arrays", seed) == by_thread([](int i) { return walk(nullptr, i % 5); }));
    CHECK(run(kRecursive, "divergent", seed) == by_thread([](int i) { return ackermann(i % 3, i % 4); }));
  }
}

TEST_CASE("functions are called through tables and pointers, each lane its own") {
  const auto plain = [](int i) { return i % 3 == 0 ? i + 7 : i % 3 == 1 ? i - 7 : i * 7; };
  CHECK(run(kPointers) == by_thread(plain));
  CHECK(run(kPointers, "one") == by_thread([](int i) { return i - 7; }));
  CHECK(run(kPointers, "stores") == by_thread([](int i) { return i * 3; }));
  CHECK(run(kPointers, "nested") == by_thread([](int i) { return nested((i & 1) != 0, i, 5); }));
}

TEST_CASE("a table of functions does not matter to a kernel that calls none of them") {
  CHECK(run(kPointers, "without") == by_thread([](int i) { return i; }));
}

TEST_CASE("virtual functions are those of the object, and deleting destructors need not exist") {
  CHECK(run(kVirtual) == by_thread([](int i) { return i % 2 == 0 ? 2 * i * i : 2 * 3 * i + 1; }));
}

TEST_CASE("a call through a pointer that names no function is a fault") {
  const std::string source = R"cuda(
using Operation = int (*)(int);
__device__ int same(int a) { return a; }
__device__ Operation table[2] = {same, nullptr};
extern "C" __global__ void k(int* out) { out[threadIdx.x] = table[threadIdx.x == 5](threadIdx.x); }
)cuda";
  CudaProgram program(source, "k");
  program.argument(program.memory(kCallThreads * 4));
  const LaunchReport report = program.launch(one_block());
  REQUIRE(report.findings.all().size() == 1);
  const Finding& finding = report.findings.all().front();
  CHECK(finding.kind == FaultKind::invalid_operand);
  CHECK(finding.first.thread[0] == 5);
  CHECK(place_of(program.program(), finding.first.op).line == 5);
  CHECK_THAT(finding.detail, Catch::Contains("value 0x0, where no function"));
}

TEST_CASE("recursion beyond the stack of a thread is a fault at the call") {
  const std::string source = R"cuda(
__device__ __noinline__ float sum(const float* x, int n) {
  if (n == 0) return 0.0f;
  return x[n & 1] - 0.5f * sum(x, n - 1);
}
extern "C" __global__ void k(const float* x, int n, float* out) { out[threadIdx.x] = sum(x, n); }
)cuda";
  const auto report_of = [&](CudaProgram& program, std::int32_t depth) {
    const auto x = program.upload(std::vector<float>{1.0f, 2.0f});
    program.argument(x).argument(depth).argument(program.memory(kCallThreads * 4));
    return program.launch(one_block());
  };
  CudaProgram program(source, "k");
  CHECK(report_of(program, 40).findings.empty());
  const LaunchReport report = report_of(program, 5000);
  REQUIRE(report.findings.all().size() == 1);
  const Finding& finding = report.findings.all().front();
  CHECK(finding.kind == FaultKind::stack_overflow);
  CHECK(place_of(program.program(), finding.first.op).line == 4);
  CHECK_THAT(describe(program.program(), finding), Catch::Contains("stack of 1024 bytes") &&
                                                       Catch::Contains("in sum() called at line 4") &&
                                                       Catch::Contains("more calls"));
  CHECK(to_outcome(program.program(), report.findings, StageId::check).status == Status::memory_error);
}

TEST_CASE("a fault in a function that is not inlined names the calls that led there") {
  const std::string source = R"cuda(
struct Grid { float* data; int width; };
__device__ __noinline__ void put(Grid grid, int row, float value) {
  grid.data[row * grid.width] = value;
}
namespace outer {
template <class T>
__device__ __noinline__ void fill(Grid grid, T value) {
  put(grid, threadIdx.x, value);
}
}
extern "C" __global__ void k(float* data) {
  outer::fill({data, 2}, 1.0f);
}
)cuda";
  CudaProgram program(source, "k");
  program.argument(program.memory(kCallThreads * 4));
  const LaunchReport report = program.launch(one_block());
  REQUIRE_FALSE(report.findings.empty());
  const Finding& finding = report.findings.all().front();
  CHECK(finding.kind == FaultKind::out_of_bounds);
  const std::string words = describe(program.program(), finding, "kernel.cu");
  CHECK_THAT(words, Catch::StartsWith("kernel.cu:4:"));
  CHECK_THAT(words,
             Catch::Contains("; in put() called at line 9, in outer::fill<float>() called at line 13"));
  const Json calls = to_json(program.program(), finding, "kernel.cu")["calls"];
  REQUIRE(calls.size() == 2);
  CHECK(calls[0]["function"] == "put");
  CHECK(calls[0]["line"] == 9);
  CHECK(calls[1]["line"] == 13);
}

}  // namespace ak::emulator::test
