// SPDX-License-Identifier: Apache-2.0
#include "core/plan/random_input.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

// The device's text, compiled for the host with the toolkit's own host conversions.
#include "runtime/check/device/random_input.cuh"

using namespace ak;

namespace {

constexpr InputKind kKinds[] = {InputKind::normal,   InputKind::uniform,  InputKind::small_integer,
                                InputKind::zero_one, InputKind::outliers, InputKind::ramp,
                                InputKind::peaked};

std::vector<float> draw_floats(std::int64_t count, const InputDistribution& distribution,
                               std::uint64_t seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  fill_random(std::as_writable_bytes(std::span(values)), DType::float32, count, tensor_key(seed, "x"),
              distribution);
  return values;
}

struct Moments {
  double mean = 0, variance = 0, largest = 0;
};
Moments moments(const std::vector<float>& values) {
  Moments result;
  const auto count = static_cast<double>(values.size());
  for (const float v : values) result.mean += double{v} / count;
  for (const float v : values) {
    result.variance += (double{v} - result.mean) * (double{v} - result.mean) / count;
    result.largest = std::max(result.largest, std::fabs(double{v}));
  }
  return result;
}

template <class T>
void compare_with_device(DType dtype) {
  constexpr std::int64_t kCount = 5000;
  const auto key = tensor_key(0x123456789ABCDEF0u, "weights");
  for (const InputKind kind : kKinds) {
    for (const auto& [scale, shift] :
         {std::pair{1.0f, 0.0f}, {0.37f, 1.9f}, {64.0f, -0.001f}, {1e-3f, 0.0f}}) {
      std::vector<std::byte> host(kCount * sizeof(T));
      fill_random(host, dtype, kCount, key, {"", kind, scale, shift});
      std::int64_t differing = 0;
      for (std::int64_t i = 0; i < kCount; ++i) {
        const T device = random_element<T>(uint2{key[0], key[1]}, static_cast<unsigned long long>(i),
                                           static_cast<int>(kind), scale, shift);
        differing +=
            std::memcmp(&device, host.data() + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T)) != 0;
      }
      INFO("kind " << static_cast<int>(kind) << " scale " << scale << " shift " << shift);
      CHECK(differing == 0);
    }
  }
}

}  // namespace

TEST_CASE("philox4x32-10 gives the known answers of Random123") {
  using W = std::array<std::uint32_t, 4>;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == W{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) == W{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        W{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the device's text draws the same bits as the host for every dtype and kind") {
  compare_with_device<double>(DType::float64);
  compare_with_device<float>(DType::float32);
  compare_with_device<__half>(DType::float16);
  compare_with_device<__nv_bfloat16>(DType::bfloat16);
  compare_with_device<__nv_fp8_e4m3>(DType::float8_e4m3fn);
  compare_with_device<__nv_fp8_e5m2>(DType::float8_e5m2);
  compare_with_device<long long>(DType::int64);
  compare_with_device<int>(DType::int32);
  compare_with_device<short>(DType::int16);
  compare_with_device<signed char>(DType::int8);
  compare_with_device<bool>(DType::boolean);
}

TEST_CASE("the device's text agrees with philox4x32 beyond 32-bit indices") {
  const std::uint64_t index = 0x0000000512345678;
  const auto expected = philox4x32({0x12345678, 5, 1, 0}, {7, 9});
  const ak_random::Words words = ak_random::draw(uint2{7, 9}, index, 1);
  for (std::size_t i = 0; i < 4; ++i) CHECK(words.w[i] == expected[i]);
}

TEST_CASE("drawn bits stay the same from version to version") {
  // Stored seeds must make stored inputs again; a change here is a change of every recorded check.
  const auto key = tensor_key(42, "x");
  CHECK(key == tensor_key(42, "x"));
  std::vector<std::uint32_t> bits;
  for (const float value : draw_floats(4, {"", InputKind::normal, 1, 0}, 42)) {
    bits.push_back(std::bit_cast<std::uint32_t>(value));
  }
  CHECK(bits == std::vector<std::uint32_t>{0xBE20400E, 0x3C331E73, 0x3F737C2B, 0x3F60C9DD});
}

TEST_CASE("a standard normal has mean 0, variance 1 and tails") {
  const Moments found = moments(draw_floats(1'000'000, {"", InputKind::normal, 1, 0}));
  CHECK(std::fabs(found.mean) < 0.005);           // five standard errors
  CHECK(std::fabs(found.variance - 1) < 0.0075);  // five standard errors
  CHECK(found.largest > 4);
  CHECK(found.largest < 4.9);
}

TEST_CASE("scale and shift move a normal as asked") {
  const Moments found = moments(draw_floats(1'000'000, {"", InputKind::normal, 3, -2}));
  CHECK(found.mean == Approx(-2).margin(0.015));
  CHECK(found.variance == Approx(9).margin(0.07));
}

TEST_CASE("a uniform input fills [-1, 1) evenly") {
  const auto values = draw_floats(1'000'000, {"", InputKind::uniform, 1, 0});
  const Moments found = moments(values);
  CHECK(std::fabs(found.mean) < 0.003);
  CHECK(found.variance == Approx(1.0 / 3).margin(0.002));
  CHECK(found.largest <= 1);
  CHECK(*std::max_element(values.begin(), values.end()) < 1);
}

TEST_CASE("small integers, zero_one and ramp take exactly their values") {
  const auto count_of = [](const std::vector<float>& values, float wanted) {
    return std::count(values.begin(), values.end(), wanted);
  };
  const auto integers = draw_floats(70'000, {"", InputKind::small_integer, 1, 0});
  for (int v = -3; v <= 3; ++v)
    CHECK(count_of(integers, static_cast<float>(v)) == Approx(10'000).margin(500));
  const auto bits = draw_floats(20'000, {"", InputKind::zero_one, 5, 5});
  CHECK(count_of(bits, 0) + count_of(bits, 1) == 20'000);
  CHECK(count_of(bits, 1) == Approx(10'000).margin(400));
  const auto ramp = draw_floats(2048, {"", InputKind::ramp, 2, 0});
  CHECK(ramp[0] == -1);
  CHECK(ramp[1] == -1 + 2.0f / 1024);
  CHECK(ramp[1024] == -1);
}

TEST_CASE("outliers and peaks have the promised share and size") {
  const auto rare = [](const std::vector<float>& values, float bound) {
    return std::count_if(values.begin(), values.end(), [&](float v) { return std::fabs(v) > bound; });
  };
  // |normal| > 0.1 for 92 % of the outliers.
  CHECK(rare(draw_floats(1 << 20, {"", InputKind::outliers, 1, 0}), 10) == Approx(1024 * 0.92).margin(160));
  CHECK(rare(draw_floats(1 << 20, {"", InputKind::peaked, 1, 0}), 10) == Approx(4096).margin(320));
}

TEST_CASE("integer inputs take every value in [-8, 8] and bool both") {
  std::vector<std::int8_t> values(17'000);
  fill_random(std::as_writable_bytes(std::span(values)), DType::int8, 17'000, tensor_key(3, "i"), {});
  for (int v = -8; v <= 8; ++v) {
    CHECK(std::count(values.begin(), values.end(), static_cast<std::int8_t>(v)) == Approx(1000).margin(160));
  }
  std::vector<std::int8_t> truth(10'000);
  fill_random(std::as_writable_bytes(std::span(truth)), DType::boolean, 10'000, tensor_key(3, "b"), {});
  CHECK(std::count(truth.begin(), truth.end(), 1) == Approx(5000).margin(250));
  CHECK(std::count(truth.begin(), truth.end(), 0) + std::count(truth.begin(), truth.end(), 1) == 10'000);
}

TEST_CASE("tensors and seeds have their own streams") {
  CHECK(tensor_key(1, "a") != tensor_key(1, "b"));
  CHECK(tensor_key(1, "a") != tensor_key(2, "a"));
  CHECK(tensor_key(1, "a") != tensor_key(std::uint64_t{1} << 32, "a"));
}
