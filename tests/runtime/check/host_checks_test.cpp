// SPDX-License-Identifier: Apache-2.0
// What the host computes on the memory of the CPU device, compared with the harness's kernels, which it emulates.
#include "runtime/check/host_checks.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/build/compile_pool.h"
#include "runtime/check/harness_kernels.h"
#include "runtime/cuda/device_context.h"
#include "runtime/cuda/launch_inspector.h"
#include "runtime/emulated/emulated_driver.h"
#include "tests/support/build_cache.h"
#include "tests/support/daily_sample.h"
#include "tests/support/host_draws.h"
#include "tests/support/patience.h"
#include "tests/support/tiny_problem.h"

namespace ak::test {
namespace {

constexpr Arch kArch{.major = 9, .minor = 0, .feature = 'a'};
constexpr std::int64_t kCount = 3'001;  // twelve blocks of the kernels, the last of them short

/// A fifth of the dtypes, others on other days: each takes the kernels a second to build.
std::vector<DType> dtypes_of_today() {
  std::vector<DType> drawn;
  for (std::size_t i = 0; i < dtypes().size(); ++i)
    if (testing::drawn_today(i, 5)) drawn.push_back(dtypes()[i].dtype);
  return drawn;
}

std::string build_kernels(const std::vector<DType>& used) {
  const runtime::HarnessSource harness = runtime::harness_source(used);
  TranslationUnit unit = plain_assembler().plain(harness.file_name, harness.source, kArch);
  unit.headers = harness.headers;
  unit.kernels = harness.kernels;
  unit.options.insert(unit.options.end(), harness.options.begin(), harness.options.end());
  runtime::CompilePool pool({.worker_command = self_as_worker(),
                             .workers = 1,
                             .deadline = testing::kPatience,
                             .cache_dir = testing::shared_build_cache()});
  static_cast<void>(pool.submit(unit));
  const auto built = pool.wait(testing::out_of_patience());
  REQUIRE(built);
  INFO(built->result.log);
  REQUIRE(built->result.outcome.status == Status::ok);
  return built->result.ptx;
}

/// The same work by the host and by kernels, on one CPU device.
struct Bench {
  explicit Bench(const std::vector<DType>& used)
      : image(build_kernels(used)),
        emulated(kArch),
        context(0),
        stream(runtime::create_stream()),
        host(image, stream.get()),
        kernels(image, stream.get(), nullptr) {}

  runtime::DeviceBuffer upload(const void* bytes, std::size_t count) const {
    runtime::DeviceBuffer buffer(count, "a test's memory");
    runtime::check(runtime::driver().cuMemcpyHtoDAsync(buffer.address(), bytes, count, stream.get()),
                   "writing");
    return buffer;
  }
  template <class T>
  std::vector<T> download(const runtime::DeviceBuffer& buffer) const {
    std::vector<T> values(buffer.bytes() / sizeof(T));
    runtime::check(runtime::driver().cuMemcpyDtoH(values.data(), buffer.address(), buffer.bytes()),
                   "reading");
    return values;
  }
  /// kCount elements of a dtype, drawn by the host.
  runtime::DeviceBuffer draw(DType dtype, const InputDraw& asked, const char* name) const {
    runtime::DeviceBuffer buffer(kCount * static_cast<std::size_t>(info(dtype).bytes), name);
    host.fill(buffer.view(), dtype, tensor_key(7, name), testing::vector_draw(asked, dtype, kCount));
    return buffer;
  }

  std::string image;
  runtime::EmulatedDriver emulated;
  runtime::DeviceContext context;
  runtime::StreamHandle stream;
  runtime::HarnessKernels host, kernels;
};

/// Exact results as the harness has them, some of which no number of a narrow type is near.
std::vector<std::int64_t> expected_bits(bool floating) {
  std::vector<std::int64_t> bits(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto place = static_cast<std::size_t>(i);
    bits[place] = floating ? std::bit_cast<std::int64_t>(static_cast<double>(i % 17) - 8.25) : i % 17 - 8;
    if (floating && i % 500 == 3)
      bits[place] = std::bit_cast<std::int64_t>(i % 1000 == 3 ? std::numeric_limits<double>::infinity()
                                                              : std::numeric_limits<double>::quiet_NaN());
  }
  return bits;
}

/// NaN is NaN.
bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == Approx(b).margin(0); }

void check_same(const runtime::Comparison& host, const runtime::Comparison& kernels) {
  CHECK(host.count == kernels.count);
  CHECK(same(host.max_error, kernels.max_error));
  CHECK(same(host.mean_error, kernels.mean_error));
  CHECK(same(host.rms_error, kernels.rms_error));
  CHECK(host.worst == kernels.worst);
  CHECK(host.wrong == kernels.wrong);
  CHECK(host.far == kernels.far);
  CHECK(host.unequal == kernels.unequal);
  CHECK(host.nonfinite == kernels.nonfinite);
  CHECK(host.first_nonfinite == kernels.first_nonfinite);
  CHECK(host.unwritten == kernels.unwritten);
  CHECK(host.first_unwritten == kernels.first_unwritten);
  CHECK(host.first_wrong == kernels.first_wrong);
  CHECK(host.last_wrong == kernels.last_wrong);
  CHECK(host.first_column == kernels.first_column);
  CHECK(host.last_column == kernels.last_column);
}

TEST_CASE("on the CPU device the host draws and compares every dtype as the kernels do") {
  const std::vector<DType> drawn = dtypes_of_today();
  const Bench bench(drawn);
  for (const DType dtype : drawn) {
    INFO(info(dtype).name);
    const InputDraw values{.kind = InputKind::outliers, .scale = 3.7f, .shift = 0.25f};
    const runtime::DeviceBuffer got = bench.draw(dtype, values, "got"),
                                twin = bench.draw(dtype, values, "twin");
    const runtime::DeviceBuffer by_kernel(got.bytes(), "by a kernel");
    bench.kernels.fill(by_kernel.view(), dtype, tensor_key(7, "got"),
                       testing::vector_draw(values, dtype, kCount));
    CHECK(bench.download<std::byte>(by_kernel) == bench.download<std::byte>(got));

    // Nothing was written to a tenth.
    runtime::check(
        runtime::driver().cuMemsetD8Async(got.address() + got.bytes() / 2, runtime::poison_byte(dtype),
                                          got.bytes() / 10, bench.stream.get()),
        "poisoning");
    const std::vector<std::int64_t> bits = expected_bits(info(dtype).floating);
    const runtime::DeviceBuffer expected = bench.upload(bits.data(), kCount * sizeof(std::int64_t));
    const runtime::DeviceBuffer row_rms(101 * sizeof(double), "scales of rows");
    bench.host.row_rms(expected.address(), info(dtype).floating, {.count = 101, .length = 29},
                       row_rms.address());
    for (const bool per_row : {false, true}) {
      const runtime::ComparisonInput input{
          .dtype = dtype,
          .got = got.address(),
          .expected = expected.address(),
          .twin = twin.address(),
          .count = 101 * 29,
          .scale = {.rms = 4.5, .row_rms = per_row ? row_rms.address() : 0, .row = 29},
          .limits = {.element = 0.01, .far = 0.5}};
      check_same(bench.host.compare(input), bench.kernels.compare(input));
      runtime::ComparisonInput few = input;  // wrong
      few.limits = {.element = bench.host.compare(input).max_error * 0.9, .far = 1e9};
      check_same(bench.host.compare(few), bench.kernels.compare(few));
    }
  }
}

TEST_CASE("on the CPU device the host sums, hashes and scans as the kernels do") {
  const Bench bench({DType::float32});
  for (const bool floating : {true, false}) {
    INFO((floating ? "doubles" : "integers"));
    const std::vector<std::int64_t> bits = expected_bits(floating);
    const runtime::DeviceBuffer values = bench.upload(bits.data(), kCount * sizeof(std::int64_t));
    CHECK(bench.host.rms(values.address(), floating, kCount) ==
          Approx(bench.kernels.rms(values.address(), floating, kCount)));
    CHECK(bench.host.hash(values.view()) == bench.kernels.hash(values.view()));
    const runtime::DeviceBuffer by_host(3 * sizeof(double), "rows"), by_kernel(3 * sizeof(double), "rows");
    bench.host.row_rms(values.address(), floating, {.count = 3, .length = 1000}, by_host.address());
    bench.kernels.row_rms(values.address(), floating, {.count = 3, .length = 1000}, by_kernel.address());
    const auto rows = bench.download<double>(by_host), same = bench.download<double>(by_kernel);
    for (std::size_t row = 0; row < 3; ++row) CHECK(rows[row] == Approx(same[row]));
    if (!floating) continue;
    const runtime::ErrorScale scale{.rms = 5};
    const auto host = bench.host.rounding_error(values.address(), kCount, scale, 1.0 / 2048);
    const auto kernels = bench.kernels.rounding_error(values.address(), kCount, scale, 1.0 / 2048);
    CHECK(host.element == kernels.element);
    CHECK(host.rms == Approx(kernels.rms));
  }
  std::vector<unsigned char> bytes(1003, 0x5A);
  const runtime::DeviceBuffer same = bench.upload(bytes.data(), bytes.size());
  CHECK_FALSE(bench.host.scan(same.view(), 0x5A));
  bytes[777] = 1;
  bytes[900] = 2;
  const runtime::DeviceBuffer other = bench.upload(bytes.data(), bytes.size());
  CHECK(bench.host.scan(other.view(), 0x5A) == bench.kernels.scan(other.view(), 0x5A));
  CHECK(bench.host.scan(other.view(), 0x5A) == 777);
  CHECK(bench.host.first_difference(same.view(), other.view()) == 776);
  CHECK(bench.kernels.first_difference(same.view(), other.view()) == 776);
  CHECK_FALSE(bench.host.first_difference(same.view(), same.view()));
  CHECK(bench.host.hash(other.view()) == bench.kernels.hash(other.view()));
}

}  // namespace
}  // namespace ak::test
