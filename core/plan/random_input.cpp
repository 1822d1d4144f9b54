// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -ffp-contract=off: a fused multiply-add would round once where the device rounds twice.
#include "core/plan/random_input.h"

namespace ak {
namespace {

using Words = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

// Salmon et al., section 5.3: multipliers, and Weyl constants (golden ratio and sqrt(3) - 1).
constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

}  // namespace

Words philox4x32(Words counter, Key key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Key tensor_key(std::uint64_t seed, std::string_view tensor) {
  const ak_random::Key key = ak_random::tensor_key(seed, tensor.data(), tensor.size());
  return {key.x, key.y};
}

std::vector<std::int64_t> random_integers(std::uint64_t seed, std::string_view tensor,
                                          const ak_random::Draw& draw) {
  const Key words = tensor_key(seed, tensor);
  const ak_random::Key key{words[0], words[1]};
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(draw.count));
  for (std::int64_t i = 0; i < draw.count; ++i)
    values.push_back(ak_random::integer_element(key, static_cast<std::uint64_t>(i), draw));
  return values;
}

double random_scalar(Key key, const ak_random::Draw& draw) {
  return ak_random::chosen({key[0], key[1]}, 0, draw);
}

}  // namespace ak
