// SPDX-License-Identifier: Apache-2.0
// Words of a problem's tolerance, each with kernels that it accepts and refuses, on the CPU device.
#include <catch2/catch.hpp>

#include "tests/support/device_bench.h"

namespace ak::test {
namespace {

TinyProblem with_rule(OutputRule rule, DType dtype, std::string expression) {
  TinyProblem tiny{.dtype = dtype, .expression = std::move(expression), .check_sizes = {50}};
  tiny.tolerance.outputs["c"] = std::move(rule);
  return tiny;
}

void check_status(EmulatorBench& bench, const std::string& source, Status expected) {
  const EvaluationResult result = bench.run(source);
  INFO(source << "\n" << describe(result));
  CHECK(result.outcome.status == expected);
}

TEST_CASE("indices are judged by what they select: ties may be in any order, and no index may repeat") {
  EmulatorBench bench(with_rule({.gather = "a"}, DType::int32, "i"));
  check_status(bench, kernel("if (i < n) c[i] = i;", "int"), Status::ok);
  // Of equal elements the last comes first.
  const char* reversed = R"(
    if (i >= n) return;
    int before = 0, equal = 0;
    for (int j = 0; j < n; ++j) before += j < i && a[j] == a[i], equal += a[j] == a[i];
    for (int j = 0, seen = 0; j < n; ++j) {
      if (a[j] == a[i] && seen++ == equal - 1 - before) c[i] = j;
    })";
  check_status(bench, kernel(reversed, "int"), Status::ok);
  const char* first_of_equal = R"(
    if (i >= n) return;
    for (int j = n - 1; j >= 0; --j) if (a[j] == a[i]) c[i] = j;)";
  check_status(bench, kernel(first_of_equal, "int"), Status::incorrect);
  check_status(bench, kernel("if (i < n) c[i] = n - 1 - i;", "int"), Status::incorrect);
  check_status(bench, kernel("if (i < n) c[i] = i + (i == n - 1);", "int"), Status::incorrect);
}

TEST_CASE("the elements of a set may be in any order, and all of them must be there") {
  EmulatorBench bench(with_rule({.set = true}, DType::float32, "a[i] + b[i]"));
  check_status(bench, kernel("if (i < n) c[i] = a[i] + b[i];"), Status::ok);
  check_status(bench, kernel("if (i < n) c[n - 1 - i] = a[i] + b[i];"), Status::ok);
  check_status(bench, kernel("if (i < n) c[i] = a[i / 2] + b[i / 2];"), Status::incorrect);
  check_status(bench, kernel("if (i < n - 1) c[i] = a[i] + b[i];"), Status::incorrect);
}

TEST_CASE("an exact output is the exact result, rounded once") {
  EmulatorBench bench(with_rule({.exact = true}, DType::bfloat16, "a[i] + b[i]"));
  const std::string type = "__nv_bfloat16";
  check_status(bench, kernel("if (i < n) c[i] = __float2bfloat16(float(a[i]) + float(b[i]));", type),
               Status::ok);
  const char* one_off = R"(
    if (i >= n) return;
    const __nv_bfloat16 sum = __float2bfloat16(float(a[i]) + float(b[i]));
    c[i] = i == 7 ? __ushort_as_bfloat16(__bfloat16_as_ushort(sum) ^ 1) : sum;)";
  check_status(bench, kernel(one_off, type), Status::incorrect);
  EmulatorBench lenient(with_rule({}, DType::bfloat16, "a[i] + b[i]"));
  check_status(lenient, kernel(one_off, type), Status::ok);
  EmulatorBench most(with_rule({.equal_share = 0.98}, DType::bfloat16, "a[i] + b[i]"));
  check_status(most, kernel(one_off, type), Status::ok);
}

TEST_CASE("where the reference overflows on the way in the declared type, the exact result is right, too") {
  TinyProblem tiny{.expression = "i == 7 ? a[i] * b[i] * 1e30f * 1e30f * 1e-30f * 1e-30f / b[i] : a[i]",
                   .check_sizes = {50}};
  tiny.distributions = {{"above_zero", InputKind::uniform, 1, 2}};
  EmulatorBench bench(tiny);
  check_status(bench, kernel("if (i < n) c[i] = a[i];"), Status::ok);
  check_status(bench, kernel("if (i < n) c[i] = i == 7 ? __int_as_float(0x7f800000) : a[i];"), Status::ok);
  for (const char* other : {"__int_as_float(0xff800000)", "__int_as_float(0x7fffffff)", "2 * a[i]"}) {
    check_status(bench, kernel(std::string("if (i < n) c[i] = i == 7 ? ") + other + " : a[i];"),
                 Status::incorrect);
  }
}

TEST_CASE("an honest formula is accepted on an output of one element, and a poorer one is not") {
  TinyProblem tiny{.expression = "0.5 * a[i] * (1 + erf(a[i] / sqrt(2.0)))", .check_sizes = {1}};
  tiny.distributions = {{"normal", InputKind::normal, 2, 0}};
  EmulatorBench bench(tiny);
  const auto run = [&](const std::string& value, std::uint64_t seed) {
    // Compared with the seed, or the program would be one that was evaluated before.
    auto request =
        bench.request(kernel("if (i < n && n < 1000 + " + std::to_string(seed) + ") c[i] = " + value + ";"));
    request.seed = seed;
    return bench.run(std::move(request));
  };
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const EvaluationResult honest = run("0.5f * a[i] * (1 + erff(a[i] * 0.70710678f))", seed);
    INFO("seed " << seed << "\n" << describe(honest));
    CHECK(honest.outcome.status == Status::ok);
    const EvaluationResult poorer =
        run("0.5f * a[i] * (1 + tanhf(0.79788456f * (a[i] + 0.044715f * a[i] * a[i] * a[i])))", seed);
    refused += poorer.outcome.status == Status::incorrect;
  }
  CHECK(refused >= 18);  // where the value is near 0 or large, the two formulas agree
}

TEST_CASE("a mantissa of 3 bits is refused where the type has 16") {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    TinyProblem tiny{.dtype = dtype, .check_sizes = {1000}};
    EmulatorBench bench(tiny);
    const std::string type(info(dtype).cuda_type);
    const std::string body = R"(
    if (i >= n) return;
    const float sum = float(a[i]) + float(b[i]);
    const unsigned int bits = __float_as_uint(sum) + (1u << 19);
    c[i] = static_cast<TYPE>(ROUNDED);)";
    const auto candidate = [&](const std::string& rounded) {
      std::string text = body;
      text.replace(text.find("TYPE"), 4, type);
      return kernel(text.replace(text.find("ROUNDED"), 7, rounded), type);
    };
    check_status(bench, candidate("sum"), Status::ok);
    check_status(bench, candidate("__uint_as_float(bits & 0xfff00000u)"), Status::incorrect);
  }
}

TEST_CASE("with per row, a wrong row is not hidden by another's scale") {
  TinyProblem tiny{.expression = "i < 8 ? 1e6f + a[i] : a[i]", .check_sizes = {8}, .columns = 8};
  const std::string wrong =
      kernel("if (i < n) c[i] = i < 8 ? 1e6f + a[i] : a[i] * (i == 20 ? 1.001f : 1.0f);");
  const std::string right = kernel("if (i < n) c[i] = i < 8 ? 1e6f + a[i] : a[i];");
  EmulatorBench by_tensor(tiny);
  CHECK(by_tensor.run(elementwise_plan("k", "N * C"), wrong).outcome.status == Status::ok);
  tiny.tolerance.outputs["c"] = {.per_row = true};
  EmulatorBench by_row(tiny);
  const EvaluationResult refused = by_row.run(elementwise_plan("k", "N * C"), wrong);
  INFO(describe(refused));
  CHECK(refused.outcome.status == Status::incorrect);
  const EvaluationResult passed = by_row.run(elementwise_plan("k", "N * C"), right);
  INFO(describe(passed));
  CHECK(passed.outcome.status == Status::ok);
}

TEST_CASE("a precision that the problem permits inside is no downgrade, and is still judged") {
  const std::string half =
      kernel("if (i < n) c[i] = __half2float(__hadd(__float2half(a[i]), __float2half(b[i])));");
  EmulatorBench strict(TinyProblem{.check_sizes = {50}});
  CHECK(strict.run(half).outcome.gate == Gate::precision);
  TinyProblem tiny{.check_sizes = {50}};
  tiny.tolerance.internal = DType::float16;
  EmulatorBench permissive(tiny);
  check_status(permissive, half, Status::ok);
  check_status(permissive, kernel("if (i < n) c[i] = (a[i] + b[i]) * 1.05f;"), Status::incorrect);
}

}  // namespace
}  // namespace ak::test
