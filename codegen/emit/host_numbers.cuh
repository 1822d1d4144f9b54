// Whole numbers as launch plans have them: 64 bits, rounding down, and an error instead of a wrong value.
namespace ak_plan {

struct Refusal {  // why something cannot be computed; caught where the caller is answered
  const char* why;
};

struct Whole {
  std::int64_t value;
  explicit constexpr Whole(std::int64_t number) : value(number) {}
};

inline bool truth(Whole a) { return a.value != 0; }
inline void require(bool holds, const char* why) {
  if (!holds) throw Refusal{why};
}

// Sums and products of sizes that are far below 2^62 in any call that fits a GPU.
inline Whole in_range(double estimate, std::int64_t exact) {
  require(estimate > -4e18 && estimate < 4e18, "a size does not fit in 64 bits");
  return Whole(exact);
}
inline std::uint64_t bits(Whole a) { return static_cast<std::uint64_t>(a.value); }
inline double real(Whole a) { return static_cast<double>(a.value); }
inline Whole operator+(Whole a, Whole b) {
  return in_range(real(a) + real(b), static_cast<std::int64_t>(bits(a) + bits(b)));
}
inline Whole operator-(Whole a, Whole b) {
  return in_range(real(a) - real(b), static_cast<std::int64_t>(bits(a) - bits(b)));
}
inline Whole operator*(Whole a, Whole b) {
  return in_range(real(a) * real(b), static_cast<std::int64_t>(bits(a) * bits(b)));
}

inline Whole floor_div(Whole a, Whole b) {
  require(b.value != 0, "a division by zero");
  const bool up = a.value % b.value != 0 && (a.value < 0) != (b.value < 0);
  return Whole(a.value / b.value - (up ? 1 : 0));
}
inline Whole operator%(Whole a, Whole b) { return a - floor_div(a, b) * b; }
inline Whole exact_div(Whole a, Whole b) {
  require(b.value != 0 && a.value % b.value == 0, "a division that has to be exact is not");
  return Whole(a.value / b.value);
}
inline Whole power(Whole base, Whole exponent) {
  require(exponent.value >= 0, "a negative exponent");
  Whole result(1);
  for (std::int64_t i = 0; i < exponent.value && i < 64 + exponent.value % 2; ++i) result = result * base;
  return result;
}

inline Whole operator==(Whole a, Whole b) { return Whole(a.value == b.value ? 1 : 0); }
inline Whole operator!=(Whole a, Whole b) { return Whole(a.value != b.value ? 1 : 0); }
inline Whole operator<(Whole a, Whole b) { return Whole(a.value < b.value ? 1 : 0); }
inline Whole operator<=(Whole a, Whole b) { return Whole(a.value <= b.value ? 1 : 0); }
inline Whole operator>(Whole a, Whole b) { return Whole(a.value > b.value ? 1 : 0); }
inline Whole operator>=(Whole a, Whole b) { return Whole(a.value >= b.value ? 1 : 0); }

inline Whole min_of(Whole a, Whole b) { return a.value < b.value ? a : b; }
inline Whole max_of(Whole a, Whole b) { return a.value > b.value ? a : b; }
template <class... More>
Whole min_of(Whole a, Whole b, More... more) {
  return min_of(min_of(a, b), more...);
}
template <class... More>
Whole max_of(Whole a, Whole b, More... more) {
  return max_of(max_of(a, b), more...);
}
inline Whole abs_of(Whole a) { return a.value < 0 ? Whole(0) - a : a; }
inline Whole ceil_div(Whole a, Whole b) { return Whole(0) - floor_div(Whole(0) - a, b); }
inline Whole round_up(Whole a, Whole b) { return ceil_div(a, b) * b; }
inline Whole is_pow2(Whole a) { return Whole(a.value > 0 && (bits(a) & (bits(a) - 1)) == 0 ? 1 : 0); }
inline Whole ilog2(Whole a) {
  require(a.value >= 1, "the logarithm of a number below 1");
  std::int64_t result = 0;
  while ((a.value >> (result + 1)) > 0) ++result;
  return Whole(result);
}

// A grid, block or cluster dimension, bytes of shared memory, an i32 argument.
inline unsigned int dimension(Whole a, std::int64_t most) {
  require(a.value >= 1 && a.value <= most, "the launch would be larger than CUDA allows");
  return static_cast<unsigned int>(a.value);
}
inline int narrow(Whole a) {
  require(a.value >= -2147483647 - 1 && a.value <= 2147483647, "a size does not fit in 32 bits");
  return static_cast<int>(a.value);
}

}  // namespace ak_plan
