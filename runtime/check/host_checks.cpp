// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/host_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "runtime/check/device/element_checks.cuh"
#include "runtime/check/device/random_input.cuh"

namespace ak::runtime::host_checks {
namespace {

template <class T>
const T* as(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);
}

ak_check::ErrorScale scale_of(const Scale& scale) {
  return {.rms = scale.rms, .row_rms = scale.row_rms, .row = scale.row};
}

template <class T>
void fill_elements(std::byte* out, ak_random::Key key, const ak_random::Draw& draw) {
  T* const elements = reinterpret_cast<T*>(out);
  for (long long i = 0; i < draw.count; ++i)
    elements[i] = random_element<T>(key, static_cast<unsigned long long>(i), draw);
}

template <class T>
void note(ak_check::BlockComparison& own, ak_check::u64 i, const Compared& compared,
          const ak_check::ErrorScale& scale) {
  const T got = as<T>(compared.got)[i];
  ak_check::note_unwritten(own, i, got, compared.poison);
  if constexpr (std::is_integral_v<T>)
    ak_check::note_integer(own, i, got, as<long long>(compared.expected)[i], scale);
  else
    ak_check::note_floating(own, i, got, as<double>(compared.expected)[i], as<T>(compared.twin)[i], scale,
                            {.element = compared.element_limit, .far = compared.far_limit});
}

template <class T>
BlockComparison compare_elements(const Compared& compared) {
  ak_check::BlockComparison own = ak_check::nothing_yet();
  const ak_check::ErrorScale scale = scale_of(compared.scale);
  for (std::int64_t i = 0; i < compared.count; ++i)
    note<T>(own, static_cast<ak_check::u64>(i), compared, scale);
  return std::bit_cast<BlockComparison>(own);
}

struct OfType {
  DType dtype;
  void (*fill)(std::byte* out, ak_random::Key key, const ak_random::Draw& draw);
  BlockComparison (*compare)(const Compared& compared);
};

template <class T, class STORED = T>
constexpr OfType of_type(DType dtype) {
  return {dtype, fill_elements<T>, compare_elements<STORED>};
}

// As the kernels: a boolean is compared as its byte, and so are packed types.
constexpr OfType kTypes[] = {of_type<double>(DType::float64),
                             of_type<float>(DType::float32),
                             of_type<__half>(DType::float16),
                             of_type<__nv_bfloat16>(DType::bfloat16),
                             of_type<__nv_fp8_e4m3>(DType::float8_e4m3fn),
                             of_type<__nv_fp8_e5m2>(DType::float8_e5m2),
                             of_type<long long>(DType::int64),
                             of_type<int>(DType::int32),
                             of_type<short>(DType::int16),
                             of_type<signed char>(DType::int8),
                             of_type<unsigned int>(DType::uint32),
                             of_type<unsigned char>(DType::uint8),
                             of_type<bool, unsigned char>(DType::boolean),
                             of_type<ak_random::PackedByte, unsigned char>(DType::int4x2),
                             of_type<ak_random::PackedByte, unsigned char>(DType::uint4x2)};

const OfType& type(DType dtype) {
  const auto* const found = std::ranges::find(kTypes, dtype, &OfType::dtype);
  AK_ASSERT(found != std::end(kTypes), "every dtype has a row");
  return *found;
}

template <class T>
double rms_of(const T* values, std::int64_t count) {
  double sums[2] = {};
  for (std::int64_t i = 0; i < count; ++i) ak_check::note_square(sums, ak_check::wide(values[i]));
  return sums[1] > 0 ? std::sqrt(sums[0] / sums[1]) : 0;
}

}  // namespace

void fill(std::byte* out, DType dtype, std::array<std::uint32_t, 2> key, const ak_random::Draw& draw) {
  type(dtype).fill(out, {key[0], key[1]}, draw);
}

double rms(const std::byte* values, bool floating, std::int64_t count) {
  return floating ? rms_of(as<double>(values), count) : rms_of(as<long long>(values), count);
}

RoundingError rounding_error(const double* expected, std::int64_t count, const Scale& scale,
                             double roundoff) {
  RoundingError rounding;
  double sums[2] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = expected[i];
    if (ak_check::kind_of(x) != ak_check::Kind::finite) continue;
    const double rms = ak_check::scale_at(scale_of(scale), static_cast<ak_check::u64>(i));
    const double error = ak_check::relative_error(x + ak_check::half_step(x, roundoff), x, rms);
    rounding.element = std::fmax(rounding.element, error);
    ak_check::note_square(sums, error);
  }
  // A uniform distribution on [-a, a] has the standard deviation a / sqrt(3).
  if (sums[1] > 0) rounding.rms = std::sqrt(sums[0] / sums[1] / 3);
  return rounding;
}

BlockComparison compare(const Compared& compared) { return type(compared.dtype).compare(compared); }

std::uint64_t hash(const std::byte* bytes, std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; 8 * i < count; ++i)
    sum += ak_check::word_hash(as<unsigned char>(bytes), count, i);
  return sum;
}

std::optional<std::uint64_t> scan(const std::byte* bytes, std::uint64_t count, std::uint8_t expected) {
  const auto* const end = bytes + count;
  const auto* const found =
      std::find_if(bytes, end, [&](std::byte byte) { return byte != std::byte{expected}; });
  if (found == end) return std::nullopt;
  return static_cast<std::uint64_t>(found - bytes);
}

std::optional<std::uint64_t> first_difference(const std::byte* a, const std::byte* b, std::uint64_t count) {
  const auto [in_a, in_b] = std::mismatch(a, a + count, b);
  if (in_a == a + count) return std::nullopt;
  return static_cast<std::uint64_t>(in_a - a) / 8 * 8;
}

}  // namespace ak::runtime::host_checks
