/* alphakernel
{
  "workspace": [
    {"name": "even", "dtype": "float64", "count": "2 * B * N"},
    {"name": "odd", "dtype": "float64", "count": "2 * B * N"}
  ],
  "launches": [
    {"kernel": "fft_step", "grid": ["ceil_div(B * N // 2, 256)"], "block": [256], "for": ["STEP", 0, "ilog2(N)"],
     "args": ["x", "even", "odd", "y", {"i64": "B"}, {"i32": "ilog2(N)"}, {"i32": "STEP"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A transform as log2(N) steps (Stockham), a launch each: two numbers N / 2 apart become their sum and difference, one of
// them times a factor, and lie where the next step finds them. One pair a thread.
#ifndef ALPHAKERNEL
using accum_t = double;
using out_t = double;
#define AK_DIRECTION_FORWARD 1
#endif

struct Complex {
  accum_t real, imaginary;
};

// What a number is kept as between steps.
__device__ accum_t keep(accum_t x) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(x)) & 0xffff0000u));
#else
  return x;
#endif
}

// Number i of the input.
__device__ Complex read(const float* x, long long i) {
#if defined(AK_MUTATION_SWAPPED_PARTS)
  return {static_cast<accum_t>(x[2 * i + 1]), static_cast<accum_t>(x[2 * i])};
#elif defined(AK_MUTATION_REAL_ALONE)
  return {static_cast<accum_t>(x[2 * i]), 0};
#else
  return {static_cast<accum_t>(x[2 * i]), static_cast<accum_t>(x[2 * i + 1])};
#endif
}

__device__ void write(out_t* y, long long i, const Complex& value, long long n) {
  accum_t scale = 1;
#if !defined(AK_DIRECTION_FORWARD) && !defined(AK_MUTATION_NOT_DIVIDED)
  scale /= static_cast<accum_t>(n);
#endif
#ifdef AK_MUTATION_REVERSED_BITS
  const unsigned int place = static_cast<unsigned int>(i % n);
  i = i - place + (__brev(place) >> (33 - __ffsll(n)));
#endif
  y[2 * i] = static_cast<out_t>(value.real * scale);
  y[2 * i + 1] = static_cast<out_t>(value.imaginary * scale);
}

// exp(-+2 pi i k / n)
__device__ Complex factor(long long k, long long n) {
  Complex w;
  sincospi(2 * static_cast<accum_t>(k) / static_cast<accum_t>(n), &w.imaginary, &w.real);
#if defined(AK_DIRECTION_FORWARD) != defined(AK_MUTATION_OTHER_DIRECTION)
  w.imaginary = -w.imaginary;
#endif
#if defined(AK_MUTATION_NO_FACTORS)
  w = {1, 0};
#elif defined(AK_MUTATION_COARSE_FACTORS)
  w = {rint(w.real * 1024) / 1024, rint(w.imaginary * 1024) / 1024};
#endif
  return w;
}

// Step s joins numbers s = 2^step apart: p of n / 2 pairs, q of s.
__global__ void fft_step(const float* x, double* even, double* odd, out_t* y, long long batch, int steps, int step) {
  const long long n = 1ll << steps, s = 1ll << step, pairs = n / 2;
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (thread >= batch * pairs) return;
  const long long start = thread / pairs * n, pair = thread % pairs, p = pair / s, q = pair % s;
#ifdef AK_MUTATION_FIRST_TRANSFORM
  const long long from = 0;
#else
  const long long from = start;
#endif
  const Complex* source = reinterpret_cast<const Complex*>(step % 2 == 0 ? odd : even);
  Complex* target = reinterpret_cast<Complex*>(step % 2 == 0 ? even : odd);
  const Complex a = step == 0 ? read(x, from + pair) : source[start + pair];
  const Complex b = step == 0 ? read(x, from + pair + pairs) : source[start + pair + pairs];
  const Complex w = factor(p, n / s);
  Complex sum = {a.real + b.real, a.imaginary + b.imaginary};
  const Complex d = {a.real - b.real, a.imaginary - b.imaginary};
  Complex difference = {d.real * w.real - d.imaginary * w.imaginary, d.real * w.imaginary + d.imaginary * w.real};
#ifdef AK_MUTATION_LAST_STEP
  if (step == steps - 1) {
    sum = a;
    difference = b;
  }
#endif
  const long long to = start + q + s * 2 * p;
  if (step == steps - 1) {
    write(y, to, sum, n);
    write(y, to + s, difference, n);
  } else {
    target[to] = {keep(sum.real), keep(sum.imaginary)};
    target[to + s] = {keep(difference.real), keep(difference.imaginary)};
  }
}
