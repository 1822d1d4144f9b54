// SPDX-License-Identifier: Apache-2.0
// What follows a product: scales, bias, residual, activation, gate, dropout, quantising; a warp's sums to rows.
//
//   x = activation(alpha sum row_scale column_scale + beta residual + bias);  x = gate(x of 2j) x of 2j + 1
//   c = quantised(dropout(x) + residual)
//
// all of it optional, and the residual in one of two places. A lane makes four neighbouring results at once: the
// numbers of dropout come in fours, and what is read and written is one vector. Sums of a warp go through 16 rows of
// shared memory, 40 words each (24 of narrow tiles): rows then lie in different banks, and lines leave whole.
#pragma once

#include <ak/elements.cuh>
#include <ak/functions.cuh>
#include <ak/philox.cuh>
#include <ak/vectors.cuh>

namespace ak {

enum class Activation { none, relu, gelu, gelu_tanh, silu };
// swiglu: silu of an even column times the odd one next to it; geglu: gelu of it.
enum class Gate { none, swiglu, geglu };
// scaled: beta times it joins the sum; added: it joins the result.
enum class Residual { none, scaled, added };

// The function of one number. PRECISE: with the exponential that float results ask for.
template <Activation ACTIVATION, bool PRECISE = false>
__device__ __forceinline__ float activate(float x) {
  if constexpr (ACTIVATION == Activation::relu) return relu(x);
  if constexpr (ACTIVATION == Activation::gelu) return gelu(x);
  if constexpr (ACTIVATION == Activation::gelu_tanh) return gelu_tanh(x);
  if constexpr (ACTIVATION == Activation::silu && PRECISE) return x / (1.0f + expf(-x));
  if constexpr (ACTIVATION == Activation::silu) return silu(x);
  return x;
}

// What there is of it: derive, and say what differs.
template <class SUM, class WIDE, class RESULT>
struct EpilogueOptions {
  using Sum = SUM;        ///< float or int
  using Wide = WIDE;      ///< of bias and residual
  using Result = RESULT;  ///< int: sums as they are
  static constexpr bool kBias = false, kScales = false, kDropout = false, kQuantised = false, kPrecise = false;
  static constexpr Activation kActivation = Activation::none;
  static constexpr Gate kGate = Gate::none;
  static constexpr Residual kResidual = Residual::none;
};

// The tensors of an epilogue; those that there are not may be null.
template <class Wide>
struct EpilogueTensors {
  const Wide *bias, *residual;
  const float *row_scales, *column_scales, *alpha, *beta, *result_scale;
  const long long* seed;
  const float* dropout;  ///< its probability
};

template <class OPTIONS>
struct ProductEpilogue {
  using Options = OPTIONS;
  using Sum = typename Options::Sum;
  using Wide = typename Options::Wide;
  using Result = typename Options::Result;
  static constexpr bool kPlain = kSame<Result, int>;  ///< sums are stored as they are
  static constexpr int kSums = Options::kGate == Gate::none ? 1 : 2;  ///< of a result
  // Whether results depend on nothing but their sum and column: no need for rows.
  static constexpr bool kByColumns = !Options::kScales && Options::kResidual == Residual::none && kSums == 1 &&
                                     !Options::kDropout && !Options::kQuantised && !kPlain;

  EpilogueTensors<Wide> tensors;
  int n;                // columns of sums
  long long start = 0;  // index of this matrix's first result in the batch
  float alpha = 1.0f, beta = 0.0f, inverse = 1.0f;
  Dropout dropout = Dropout(0, 0.0f);

  __device__ __forceinline__ ProductEpilogue(const EpilogueTensors<Wide>& with, int columns)
      : tensors(with), n(columns) {
    if constexpr (Options::kResidual == Residual::scaled) {
      alpha = *tensors.alpha;
      beta = *tensors.beta;
    }
    if constexpr (Options::kQuantised) inverse = 1.0f / *tensors.result_scale;
    if constexpr (Options::kDropout) dropout = Dropout(static_cast<u64>(*tensors.seed), *tensors.dropout);
  }
  // The same for matrix `matrix` of a batch, of m rows.
  __device__ __forceinline__ ProductEpilogue of(int matrix, int m) const {
    ProductEpilogue chosen = *this;
    chosen.start = static_cast<long long>(matrix) * m * columns();
    if constexpr (Options::kScales) {
      chosen.tensors.row_scales += static_cast<long long>(matrix) * m;
      chosen.tensors.column_scales += static_cast<long long>(matrix) * n;
    }
    return chosen;
  }
  // Columns of the result.
  __device__ __forceinline__ int columns() const { return n / kSums; }

  // A sum up to the activation; a place inside.
  __device__ __forceinline__ float value(Sum sum, int row, int column) const {
    float x = static_cast<float>(sum);
    if constexpr (Options::kScales) x *= tensors.row_scales[row] * tensors.column_scales[column];
    if constexpr (Options::kResidual == Residual::scaled) {
      x = alpha * x + beta * static_cast<float>(tensors.residual[start + static_cast<long long>(row) * n + column]);
    }
    if constexpr (Options::kBias) x += static_cast<float>(tensors.bias[column]);
    return activate<Options::kActivation, Options::kPrecise>(x);
  }

  // Makes results [column, column + COUNT) of a row, whose sums begin at sums[0], and writes those inside to c, which
  // is the whole batch's. WIDE: lines and columns are multiples of COUNT.
  template <bool WIDE, int COUNT = 4>
  __device__ __forceinline__ void write(const Sum* sums, Result* c, int row, int column) const {
    const int inside = columns() - column;
    if (inside <= 0) return;
    const long long at = start + static_cast<long long>(row) * columns() + column;
    if constexpr (kPlain) {
      store_results<WIDE, COUNT>(c + at, inside, [&](int e) { return sums[e]; });
    } else {
      float x[COUNT];
#pragma unroll
      for (int e = 0; e < COUNT; ++e) {
        x[e] = 0.0f;
        if (WIDE || e < inside) x[e] = gated(sums + e * kSums, row, (column + e) * kSums);
      }
      finish<WIDE, COUNT>(x, at, inside);
      store_results<WIDE, COUNT>(c + at, inside, [&](int e) { return rounded(x[e]); });
    }
  }

 private:
  __device__ __forceinline__ float gated(const Sum* sums, int row, int column) const {
    constexpr Activation kGate = Options::kGate == Gate::swiglu ? Activation::silu : Activation::gelu;
    const float x = value(sums[0], row, column);
    if constexpr (kSums == 1) return x;
    return activate<kGate, Options::kPrecise>(x) * value(sums[kSums - 1], row, column + 1);
  }

  template <bool WIDE, int COUNT>
  __device__ __forceinline__ void finish(float (&x)[COUNT], long long at, int inside) const {
    if constexpr (Options::kDropout) {
      if constexpr (WIDE && COUNT == 4) {
        dropout.apply(x, at);
      } else {
#pragma unroll
        for (int e = 0; e < COUNT; ++e) x[e] = dropout.at(x[e], at + e);
      }
    }
    if constexpr (Options::kResidual == Residual::added) {
      if constexpr (WIDE) {
        const auto add = load<COUNT>(tensors.residual + at);
#pragma unroll
        for (int e = 0; e < COUNT; ++e) x[e] += static_cast<float>(add.value[e]);
      } else {
#pragma unroll
        for (int e = 0; e < COUNT; ++e) {
          if (e < inside) x[e] += static_cast<float>(tensors.residual[at + e]);
        }
      }
    }
  }

  __device__ __forceinline__ Result rounded(float x) const {
    if constexpr (Options::kQuantised) x *= inverse;
    if constexpr (kSame<Result, signed char>) {
      return static_cast<signed char>(min(max(__float2int_rn(x), -128), 127));
    } else {
      return static_cast<Result>(x);
    }
  }

  template <bool WIDE, int COUNT, class At>
  static __device__ __forceinline__ void store_results(Result* to, int inside, At at) {
    if constexpr (WIDE) {
      Pack<Result, COUNT> pack;
#pragma unroll
      for (int e = 0; e < COUNT; ++e) pack.value[e] = at(e);
      store(to, pack);
    } else {
#pragma unroll
      for (int e = 0; e < COUNT; ++e) {
        if (e < inside) to[e] = at(e);
      }
    }
  }
};

// Columns of sums that are in shared memory at a time, the pitch of their rows, and bytes of a warp.
template <int COLUMNS>
constexpr int kStagedColumns = COLUMNS % 32 == 0 ? 32 : 16;
template <int COLUMNS>
constexpr int kStagedPitch = kStagedColumns<COLUMNS> + 8;
template <int COLUMNS>
constexpr int kStagedBytes = 16 * kStagedPitch<COLUMNS> * 4;

// Makes results of a warp's 16 rows of COLUMNS sums (as wgmma.cuh and mma.cuh have them), the first at `row` and sum
// column `column`. staged: kStagedBytes<COLUMNS> of this warp alone, aligned to 16.
template <int COLUMNS, class Epilogue>
__device__ __forceinline__ void write_rows(const typename Epilogue::Sum (&sums)[COLUMNS / 2],
                                           typename Epilogue::Sum* staged, const Epilogue& epilogue,
                                           typename Epilogue::Result* c, int row, int column, int m) {
  static_assert(COLUMNS % 16 == 0, "parts are 16 or 32 columns wide");
  constexpr int kPart = kStagedColumns<COLUMNS>, kPitch = kStagedPitch<COLUMNS>;
  constexpr int kTaken = 4 * Epilogue::kSums, kLanes = kPart / kTaken;  // sums of a lane, lanes of a row
  const int lane = static_cast<int>(threadIdx.x % 32), x = lane % kLanes * kTaken;
  const bool wide = epilogue.columns() % 4 == 0;
#pragma unroll
  for (int part = 0; part < COLUMNS / kPart; ++part) {
#pragma unroll
    for (int i = 0; i < kPart / 2; i += 2) {
      Pack<typename Epilogue::Sum, 2> pair;
      pair.value[0] = sums[part * kPart / 2 + i];
      pair.value[1] = sums[part * kPart / 2 + i + 1];
      store(staged + (lane / 4 + i / 2 % 2 * 8) * kPitch + i / 4 * 8 + lane % 4 * 2, pair);
    }
    __syncwarp();
    const int first = (column + part * kPart + x) / Epilogue::kSums;
#pragma unroll
    for (int y = lane / kLanes; y < 16; y += 32 / kLanes) {
      if (row + y >= m) continue;
      if (wide) {
        epilogue.template write<true>(staged + y * kPitch + x, c, row + y, first);
      } else {
        epilogue.template write<false>(staged + y * kPitch + x, c, row + y, first);
      }
    }
    __syncwarp();
  }
}

}  // namespace ak
