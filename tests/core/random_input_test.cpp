// SPDX-License-Identifier: Apache-2.0
#include "core/plan/random_input.h"

#include "core/plan/input_draw.h"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/host_draws.h"

// The device's text, compiled for the host with the toolkit's own host conversions.
#include "runtime/check/device/random_input.cuh"

using namespace ak;

namespace {

// One of every kind, with what it needs.
constexpr const char* kDraws[] = {"normal",
                                  "uniform",
                                  "small_integer",
                                  "zero_one",
                                  "outliers",
                                  "ramp",
                                  "peaked",
                                  "cauchy",
                                  "rising",
                                  "spiked",
                                  "late_spike",
                                  "row_scales",
                                  "ascending",
                                  "constant(3)",
                                  "choices(0, 1, 100)",
                                  "integers",
                                  "integers(0, 100)",
                                  "lengths(100)",
                                  "permutation",
                                  "offsets(99)",
                                  "index(77)",
                                  "block_table(120)",
                                  "even_offsets(99)",
                                  "skewed_offsets(99)",
                                  "single_offsets(99)",
                                  "row_pointers(99, 3)",
                                  "row_columns(50, 110)",
                                  "even_row_columns(50, 110)",
                                  "offsets(11, 77)",
                                  "prefixes(5, 7, 3)"};

InputDraw parsed(std::string_view text, float scale = 1, float shift = 0) {
  InputDraw draw = parse_input_draw(text).value();
  draw.scale = scale;
  draw.shift = shift;
  return draw;
}

/// Elements of a matrix drawn as `text` says.
template <class T>
std::vector<T> draw_matrix(DType dtype, const std::string& text, std::int64_t rows, std::int64_t columns,
                           std::uint64_t seed = 1) {
  const auto draw = resolve_draw(parsed(text), dtype, {rows, columns}, {}).value();
  std::vector<T> values(static_cast<std::size_t>(rows * columns));
  testing::fill_random(std::as_writable_bytes(std::span(values)), dtype, tensor_key(seed, "x"), draw);
  return values;
}

std::vector<float> draw_floats(std::int64_t count, const InputDraw& draw, std::uint64_t seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  testing::fill_random(std::as_writable_bytes(std::span(values)), DType::float32, tensor_key(seed, "x"),
                       testing::vector_draw(draw, DType::float32, count));
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

/// How many elements of a matrix the device's text draws otherwise than the host.
template <class T>
std::int64_t differing(DType dtype, const ak_random::Draw& draw) {
  const auto key = tensor_key(0x123456789ABCDEF0u, "weights");
  std::vector<std::byte> host(static_cast<std::size_t>(draw.count) * sizeof(T));
  testing::fill_random(host, dtype, key, draw);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < draw.count; ++i) {
    const T device = random_element<T>(ak_random::Key{key[0], key[1]}, static_cast<std::uint64_t>(i), draw);
    count += std::memcmp(&device, host.data() + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T)) != 0;
  }
  return count;
}

template <class T>
void compare_with_device(DType dtype) {
  for (const char* text : kDraws) {
    for (const auto& [scale, shift] :
         {std::pair{1.0f, 0.0f}, {0.37f, 1.9f}, {64.0f, -0.001f}, {1e-3f, 0.0f}}) {
      const auto draw = resolve_draw(parsed(text, scale, shift), dtype, {40, 125}, {});
      if (!draw) continue;  // a type without these values
      INFO(text << " scale " << scale << " shift " << shift);
      CHECK(differing<T>(dtype, *draw) == 0);
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
  compare_with_device<unsigned int>(DType::uint32);
  compare_with_device<unsigned char>(DType::uint8);
  compare_with_device<bool>(DType::boolean);
  compare_with_device<ak_random::PackedByte>(DType::int4x2);
  compare_with_device<ak_random::PackedByte>(DType::uint4x2);
}

TEST_CASE("a packed type's two values are drawn by themselves, the first into the low four bits") {
  const auto key = tensor_key(7, "q");
  const auto bytes_of = [&](const char* text, DType dtype) {
    std::vector<std::byte> bytes(400);
    testing::fill_random(bytes, dtype, key, resolve_draw(parsed(text, 1, 0), dtype, {4, 100}, {}).value());
    return bytes;
  };
  for (const std::byte byte : bytes_of("constant(-3)", DType::int4x2)) CHECK(byte == std::byte{0xDD});
  bool differ = false;
  for (const std::byte byte : bytes_of("integers(0, 9)", DType::uint4x2)) {
    const int low = std::to_integer<int>(byte & std::byte{15}), high = std::to_integer<int>(byte >> 4);
    CHECK((low <= 9 && high <= 9));
    differ = differ || low != high;
  }
  CHECK(differ);
  const auto ascending = bytes_of("ascending(0, 15)", DType::uint4x2);
  CHECK(ascending[0] == std::byte{0x10});
  CHECK(ascending[1] == std::byte{0x32});
  CHECK_FALSE(resolve_draw(parsed("integers(0, 8)", 1, 0), DType::int4x2, {4}, {}).ok());
}

TEST_CASE("the device's text agrees with philox4x32 beyond 32-bit indices") {
  const std::uint64_t index = 0x0000000512345678;
  const auto expected = philox4x32({0x12345678, 5, 1, 0}, {7, 9});
  const ak_random::Words words = ak_random::draw({7, 9}, index, 1);
  for (std::size_t i = 0; i < 4; ++i) CHECK(words.w[i] == expected[i]);
}

TEST_CASE("drawn bits stay the same from version to version") {
  // Stored seeds must make stored inputs again; a change here is a change of every recorded check.
  const auto key = tensor_key(42, "x");
  CHECK(key == tensor_key(42, "x"));
  std::vector<std::uint32_t> bits;
  for (const float value : draw_floats(4, {InputKind::normal, 1, 0}, 42)) {
    bits.push_back(std::bit_cast<std::uint32_t>(value));
  }
  CHECK(bits == std::vector<std::uint32_t>{0xBE20400E, 0x3C331E73, 0x3F737C2B, 0x3F60C9DD});
}

TEST_CASE("a standard normal has mean 0, variance 1 and tails") {
  const Moments found = moments(draw_floats(1'000'000, {InputKind::normal, 1, 0}));
  CHECK(std::fabs(found.mean) < 0.005);           // five standard errors
  CHECK(std::fabs(found.variance - 1) < 0.0075);  // five standard errors
  CHECK(found.largest > 4);
  CHECK(found.largest < 4.9);
}

TEST_CASE("scale and shift move a normal as asked") {
  const Moments found = moments(draw_floats(1'000'000, {InputKind::normal, 3, -2}));
  CHECK(found.mean == Approx(-2).margin(0.015));
  CHECK(found.variance == Approx(9).margin(0.07));
}

TEST_CASE("a uniform input fills [-1, 1) evenly") {
  const auto values = draw_floats(1'000'000, {InputKind::uniform, 1, 0});
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
  const auto integers = draw_floats(70'000, {InputKind::small_integer, 1, 0});
  for (int v = -3; v <= 3; ++v)
    CHECK(count_of(integers, static_cast<float>(v)) == Approx(10'000).margin(500));
  const auto bits = draw_floats(20'000, {InputKind::zero_one, 5, 5});
  CHECK(count_of(bits, 0) + count_of(bits, 1) == 20'000);
  CHECK(count_of(bits, 1) == Approx(10'000).margin(400));
  const auto ramp = draw_floats(2048, {InputKind::ramp, 2, 0});
  CHECK(ramp[0] == -1);
  CHECK(ramp[1] == -1 + 2.0f / 1024);
  CHECK(ramp[1024] == -1);
}

TEST_CASE("outliers and peaks have the promised share and size") {
  const auto rare = [](const std::vector<float>& values, float bound) {
    return std::count_if(values.begin(), values.end(), [&](float v) { return std::fabs(v) > bound; });
  };
  // |normal| > 0.1 for 92 % of the outliers.
  CHECK(rare(draw_floats(1 << 20, {InputKind::outliers, 1, 0}), 10) == Approx(1024 * 0.92).margin(160));
  CHECK(rare(draw_floats(1 << 20, {InputKind::peaked, 1, 0}), 10) == Approx(4096).margin(320));
}

TEST_CASE("integer inputs of which nothing is said take every value in [-8, 8], bool both") {
  const auto values = draw_matrix<std::int8_t>(DType::int8, "normal", 1, 17'000);
  for (int v = -8; v <= 8; ++v) {
    CHECK(std::count(values.begin(), values.end(), static_cast<std::int8_t>(v)) == Approx(1000).margin(160));
  }
  const auto truth = draw_matrix<std::int8_t>(DType::boolean, "normal", 1, 10'000);
  CHECK(std::count(truth.begin(), truth.end(), 1) == Approx(5000).margin(250));
  CHECK(std::count(truth.begin(), truth.end(), 0) + std::count(truth.begin(), truth.end(), 1) == 10'000);
}

TEST_CASE("unsigned inputs, and integers without bounds, take every value of the type") {
  const auto bytes = draw_matrix<std::uint8_t>(DType::uint8, "normal", 1, 65'536);
  const auto signed_bytes = draw_matrix<std::int8_t>(DType::int8, "integers", 1, 65'536);
  for (int v = 0; v < 256; ++v) {
    CHECK(std::count(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(v)) == Approx(256).margin(100));
    CHECK(std::count(signed_bytes.begin(), signed_bytes.end(), static_cast<std::int8_t>(v - 128)) ==
          Approx(256).margin(100));
  }
  for (const std::int64_t value : draw_matrix<std::int64_t>(DType::int64, "integers(-5, 5)", 1, 100))
    CHECK(std::abs(value) <= 5);
  std::uint64_t set = 0, clear = 0;
  for (const std::int64_t value : draw_matrix<std::int64_t>(DType::int64, "integers", 1, 1000)) {
    set |= static_cast<std::uint64_t>(value);
    clear |= ~static_cast<std::uint64_t>(value);
  }
  CHECK(set == ~std::uint64_t{0});
  CHECK(clear == ~std::uint64_t{0});
}

TEST_CASE("every row of a permutation has each number once, and rows differ") {
  const auto values = draw_matrix<int>(DType::int32, "permutation", 3, 100);
  for (int row = 0; row < 3; ++row) {
    std::vector<int> sorted(values.begin() + row * 100, values.begin() + (row + 1) * 100);
    CHECK(!std::is_sorted(sorted.begin(), sorted.end()));
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 100; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
  }
  CHECK(!std::equal(values.begin(), values.begin() + 100, values.begin() + 100));
}

TEST_CASE("no block of a block table is used twice while there are enough") {
  auto values = draw_matrix<int>(DType::int32, "block_table(1000)", 9, 100);
  std::sort(values.begin(), values.end());
  CHECK(std::adjacent_find(values.begin(), values.end()) == values.end());
  CHECK(values.front() >= 0);
  CHECK(values.back() < 1000);
}

TEST_CASE("lengths have the longest and the shortest, offsets rise from 0 to their total") {
  const auto lengths = draw_matrix<int>(DType::int32, "lengths(50)", 1, 40);
  CHECK(lengths[0] == 50);
  CHECK(lengths[1] == 1);
  CHECK(*std::min_element(lengths.begin(), lengths.end()) >= 1);
  CHECK(*std::max_element(lengths.begin(), lengths.end()) <= 50);
  const auto offsets = draw_matrix<int>(DType::int32, "offsets(1000)", 1, 33);
  CHECK(offsets.front() == 0);
  CHECK(offsets.back() == 1000);
  CHECK(std::is_sorted(offsets.begin(), offsets.end()));
}

TEST_CASE("parts are equal, or grow from a random one on, or one has everything") {
  const auto even = draw_matrix<int>(DType::int32, "even_offsets(1000)", 1, 9);
  for (int part = 0; part < 8; ++part) CHECK(even[static_cast<std::size_t>(part + 1)] == 125 * (part + 1));
  const auto skewed = draw_matrix<int>(DType::int32, "skewed_offsets(5120)", 1, 9);
  CHECK(skewed.front() == 0);
  CHECK(skewed.back() == 5120);
  std::vector<int> lengths;
  for (std::size_t part = 0; part < 8; ++part) lengths.push_back(skewed[part + 1] - skewed[part]);
  std::sort(lengths.begin(), lengths.end());
  CHECK(lengths == std::vector<int>{10, 70, 190, 370, 610, 910, 1270, 1690});
  const auto single = draw_matrix<int>(DType::int32, "single_offsets(1000)", 40, 9);
  for (std::size_t row = 0; row < 40; ++row)
    CHECK(std::count(single.begin() + row * 9, single.begin() + row * 9 + 9, 0) +
              std::count(single.begin() + row * 9, single.begin() + row * 9 + 9, 1000) ==
          9);
}

TEST_CASE("rows of a sparse matrix hold all its entries, and their columns rise within the width") {
  const int width = 12;
  for (const int rows : {1, 3, 8, 21, 64}) {
    for (const int entries : {1, rows, 5 * rows + rows / 2, 11 * rows, width * rows}) {
      for (const bool even : {false, true}) {
        INFO(entries << " entries in " << rows << " rows, even: " << even);
        const auto pointers = draw_matrix<int>(DType::int32,
                                               even ? fmt::format("even_offsets({})", entries)
                                                    : fmt::format("row_pointers({}, {})", entries, width),
                                               1, rows + 1);
        const auto columns = draw_matrix<int>(
            DType::int32, fmt::format("{}row_columns({}, {})", even ? "even_" : "", rows, width), 1, entries);
        CHECK(pointers.front() == 0);
        CHECK(pointers.back() == entries);
        for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
          const int begin = pointers[row], end = pointers[row + 1];
          REQUIRE(begin <= end);
          CHECK(end - begin <= width);
          for (int at = begin; at < end; ++at) {
            const int column = columns[static_cast<std::size_t>(at)];
            CHECK(column < width);
            CHECK(column > (at == begin ? -1 : columns[static_cast<std::size_t>(at - 1)]));
          }
        }
      }
    }
  }
}

TEST_CASE("a rising row rises by more than 100 after any prefix, and a spike comes once in a row") {
  const auto rising = draw_matrix<float>(DType::float32, "rising", 2, 1000);
  for (const int prefix : {32, 256, 500, 700})
    CHECK(*std::max_element(rising.begin(), rising.begin() + 1000) >
          *std::max_element(rising.begin(), rising.begin() + prefix) + 100);
  const auto spiked = draw_matrix<float>(DType::float32, "spiked", 8, 1000);
  const auto late = draw_matrix<float>(DType::float32, "late_spike", 8, 1000);
  for (int row = 0; row < 8; ++row) {
    CHECK(std::count_if(spiked.begin() + row * 1000, spiked.begin() + (row + 1) * 1000,
                        [](float v) { return v > 100; }) == 1);
    CHECK(late[static_cast<std::size_t>(row * 1000 + 999)] > 100);
  }
}

TEST_CASE("a cauchy has the tails that a normal lacks, within what half precision holds") {
  const auto values = draw_floats(100'000, parsed("cauchy"));
  const auto beyond = [&](float bound) {
    return std::count_if(values.begin(), values.end(), [&](float v) { return std::fabs(v) > bound; });
  };
  CHECK(beyond(1) == Approx(50'000).margin(1000));  // half of a Cauchy distribution
  CHECK(beyond(100) > 400);
  CHECK(beyond(4096) == 0);
}

TEST_CASE(
    "of every so many values the first ones are drawn, and the others are a number that a problem names") {
  const auto keys = draw_matrix<float>(DType::float32, "prefixes(5, 8, nan)", 3, 16);
  for (std::size_t i = 0; i < keys.size(); ++i) CHECK(std::isnan(keys[i]) == (i % 8 >= 5));
  const auto scaled = draw_matrix<float>(DType::float32, "prefixes(5, 8, -inf)", 3, 16);
  CHECK(scaled[7] == -std::numeric_limits<float>::infinity());
  CHECK(scaled[4] == keys[4]);
  const auto pages = draw_matrix<int>(DType::int32, "prefixes(2, 3, -1)", 2, 3);
  CHECK(pages == std::vector{0, 1, -1, 3, 4, -1});
}

TEST_CASE("zero and NaN have the sign that a problem gives them") {
  const auto zeros = draw_matrix<float>(DType::float32, "choices(-0, 0)", 1, 64);
  CHECK(std::count(zeros.begin(), zeros.end(), 0.0f) == 64);
  const auto negative = [](float value) { return std::signbit(value); };
  const auto of_zeros = std::count_if(zeros.begin(), zeros.end(), negative);
  CHECK(of_zeros > 16);
  CHECK(of_zeros < 48);
  const auto nan = draw_matrix<float>(DType::float32, "choices(-nan, nan)", 1, 64);
  CHECK(std::count_if(nan.begin(), nan.end(), [](float value) { return std::isnan(value); }) == 64);
  const auto of_nan = std::count_if(nan.begin(), nan.end(), negative);
  CHECK(of_nan > 16);
  CHECK(of_nan < 48);
}

TEST_CASE("offsets may begin behind 0 and end before the last element") {
  const auto offsets = draw_matrix<int>(DType::int32, "offsets(3, 20)", 4, 5);
  for (std::size_t row = 0; row < 4; ++row) {
    CHECK(offsets[5 * row] == 3);
    CHECK(offsets[5 * row + 4] == 20);
    CHECK(std::is_sorted(offsets.begin() + static_cast<long>(5 * row),
                         offsets.begin() + static_cast<long>(5 * row + 5)));
  }
}

TEST_CASE("what a draw says wrong is refused with what was expected") {
  const auto message = [](std::string_view text) { return parse_input_draw(text).error().message; };
  CHECK(message("gauss").find("those are normal, uniform") != std::string::npos);
  CHECK(message("index").find("expected one size") != std::string::npos);
  CHECK(message("integers(1)").find("lowest and a highest") != std::string::npos);
  CHECK(message("normal(scale=x)").find("expected a number") != std::string::npos);
  CHECK(message("normal(3)").find("no other argument") != std::string::npos);
  CHECK(message("constant(1").find("closing parenthesis") != std::string::npos);
  const auto resolved = [](const char* text, DType dtype) {
    return resolve_draw(parsed(text), dtype, {4}, {{"N", std::int64_t{1000}}});
  };
  CHECK(resolved("index(N)", DType::int32).ok());
  CHECK(resolved("index(N)", DType::uint8).error().message.find("uint8 does not hold") != std::string::npos);
  CHECK(resolved("index(K)", DType::int32).error().message.find("K") != std::string::npos);
  CHECK(resolved("integers(3, 2)", DType::int32).error().message.find("empty") != std::string::npos);
  CHECK(message("offsets").find("or a lowest and a highest value") != std::string::npos);
  CHECK(message("prefixes(2, 3)").find("the number that the others are") != std::string::npos);
  CHECK(resolved("prefixes(3, 2, 0)", DType::int32).error().message.find("empty") != std::string::npos);
  CHECK(resolved("prefixes(0, 0, 0)", DType::int32).error().message.find("the first 0 of 0 values") !=
        std::string::npos);
  CHECK(resolved("prefixes(1, 2, nan)", DType::int32).error().message.find("int32 does not hold") !=
        std::string::npos);
  CHECK(message("row_pointers(5)").find("how many entries there are, and the width") != std::string::npos);
  CHECK(resolved("row_pointers(10, 3)", DType::int32).error().message.find("do not fit 3 rows of 3") !=
        std::string::npos);
  CHECK(resolved("constant(0.5)", DType::int32).error().message.find("int32 does not hold 0.5") !=
        std::string::npos);
}

TEST_CASE("scale and shift may be in the parentheses") {
  const InputDraw draw = parse_input_draw("normal(scale=64, shift=-1.5)").value();
  CHECK(draw.scale == 64);
  CHECK(draw.shift == -1.5f);
}

TEST_CASE("all 64 bits of a seed count") {
  for (int bit = 0; bit < 64; ++bit)
    CHECK(tensor_key(7, "x") != tensor_key(7 ^ std::uint64_t{1} << bit, "x"));
}

TEST_CASE("tensors and seeds have their own streams") {
  CHECK(tensor_key(1, "a") != tensor_key(1, "b"));
  CHECK(tensor_key(1, "a") != tensor_key(2, "a"));
  CHECK(tensor_key(1, "a") != tensor_key(std::uint64_t{1} << 32, "a"));
}
