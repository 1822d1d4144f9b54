// SPDX-License-Identifier: Apache-2.0
// One kernel for each device header: device_headers_test.cpp knows what they give.
#include <cuda_fp16.h>

#include <ak/attention.cuh>
#include <ak/barriers.cuh>
#include <ak/block_product.cuh>
#include <ak/clusters.cuh>
#include <ak/copies.cuh>
#include <ak/decode.cuh>
#include <ak/epilogue.cuh>
#include <ak/functions.cuh>
#include <ak/groups.cuh>
#include <ak/handover.cuh>
#include <ak/narrow.cuh>
#include <ak/pad.cuh>
#include <ak/panels.cuh>
#include <ak/philox.cuh>
#include <ak/pixels.cuh>
#include <ak/product_epilogue.cuh>
#include <ak/radix.cuh>
#include <ak/reduce.cuh>
#include <ak/rows.cuh>
#include <ak/stream_k.cuh>
#include <ak/routing.cuh>
#include <ak/unaligned_rows.cuh>
#include <ak/select.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/vectors.cuh>
#include <ak/wgmma_ring.cuh>

template <class T, int COUNT, ak::Cache LOAD, ak::Cache STORE>
__device__ void copy_packs(const T* x, T* y, int packs) {
  for (int i = threadIdx.x; i < packs; i += blockDim.x) ak::store<STORE>(y + i * COUNT, ak::load<COUNT, LOAD>(x + i * COUNT));
}

// Of rows: sums of squares of distances from the mean, and the first element of each vector.
template <int THREADS, int ROWS, bool CLUSTER>
__device__ void distances(const float* x, float* squares, float* firsts, int columns) {
  ak::Row<THREADS, ROWS, 2, 2, CLUSTER> line;
  const int row = static_cast<int>(blockIdx.x) / line.blocks() * ROWS + static_cast<int>(threadIdx.y);
  ak::Pack<float, 2> packs[2];
  line.template read<ak::Cache::plain>(packs, x + row * columns, columns);
  line.begin();
  float values[2][2];
  ak::widen(values, packs);
  for (int item = 0; item < 2; ++item) {
    if (line.column(item) < columns) firsts[row * columns / 2 + line.column(item) / 2] = values[item][0];
  }
  ak::subtract_mean(line, values, columns, columns);
  const float sum = ak::sum_of_squares(line, values, columns);
  const float largest = line.reduce(sum, ak::Maximum());  // a third reduction: the first one's memory again
  if (line.is_first()) squares[row] = largest;
}

extern "C" {

// ---- vectors: x and y have 64 bytes for each of the five parts

__global__ void vectors(const unsigned char* x, unsigned char* y) {
  using ak::Cache;
  copy_packs<unsigned char, 2, Cache::plain, Cache::streaming>(x, y, 32);
  copy_packs<unsigned short, 2, Cache::read_only, Cache::l2>(reinterpret_cast<const unsigned short*>(x + 64),
                                                             reinterpret_cast<unsigned short*>(y + 64), 16);
  copy_packs<unsigned int, 2, Cache::streaming, Cache::plain>(reinterpret_cast<const unsigned int*>(x + 128),
                                                              reinterpret_cast<unsigned int*>(y + 128), 8);
  copy_packs<float, 4, Cache::l2, Cache::streaming>(reinterpret_cast<const float*>(x + 192),
                                                    reinterpret_cast<float*>(y + 192), 4);
  copy_packs<unsigned char, 1, Cache::streaming, Cache::plain>(x + 256, y + 256, 64);
}

__global__ void pack_sums(const __half* x, float* y) { y[threadIdx.x] = ak::sum_of(ak::load<8>(x + threadIdx.x * 8)); }

// ---- reduce: a row of 128 threads, two rows a block

__global__ void rows(const float* x, float* sums, float* maxima) {
  const int at = threadIdx.y * 128 + threadIdx.x;
  sums[at] = ak::reduce_row<128, 2, 0>(x[at], ak::Sum());
  maxima[at] = ak::reduce_row<128, 2, 1>(x[at], ak::Maximum());
}
__global__ void lanes(const float* x, float* eight, float* quad) {
  eight[threadIdx.x] = ak::reduce_lanes<8>(x[threadIdx.x], ak::Sum());
  quad[threadIdx.x] = ak::reduce_quad(x[threadIdx.x], ak::Minimum());
}
__global__ void whole_block(const float* x, float* y) {
  const float sum = ak::block_sum<256>(x[threadIdx.x]);
  if (threadIdx.x == 0) y[0] = sum;
}

// ---- handover

__global__ void last_block_adds(int* parts, unsigned int* arrived, int* total) {
  if (threadIdx.x == 0) parts[blockIdx.x] = blockIdx.x + 1;
  if (!ak::is_last_block(arrived)) return;
  if (threadIdx.x != 0) return;
  int sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += __ldcg(parts + i);
  *total = sum;
}
__global__ void in_turn(unsigned int* turnstile, int* state) {
  ak::wait_turn(turnstile, blockIdx.x);
  if (threadIdx.x == 0) __stcg(state, __ldcg(state) * 3 + static_cast<int>(blockIdx.x));
  ak::pass_turn(turnstile);
}

// ---- radix: keys of 16 bits, moved by the upper 8; the values are their places

struct AllBits {
  __device__ ak::u32 operator()(ak::u32 key) const { return key; }
};
__global__ void count_bytes(const ak::u32* keys, int n, ak::u32* counts, unsigned int* arrived) {
  ak::count_digits<256, 2>(keys, n, counts, arrived, AllBits());
}
__global__ void move_by_byte(const ak::u32* keys, int n, const ak::u32* counts, ak::u32* known, unsigned int* ticket,
                             ak::u32* moved, ak::u32* places) {
  ak::move_by_digit<256, 1>(keys, nullptr, moved, places, n, 1, counts, known, ticket, AllBits());
}

// ---- barriers: a warp fills a ring of three stages of 64 words, another reads them

__global__ void ring(const int* x, int* y, int steps) {
  __shared__ __align__(128) int stages[3][64];
  __shared__ __align__(8) unsigned long long barriers[6];
  const ak::u32 full = ak::shared_address(barriers), empty = full + 3 * 8;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 3; ++stage) {
      ak::barrier_init(full + stage * 8, 1);
      ak::barrier_init(empty + stage * 8, 32);
    }
    ak::publish_barriers();
  }
  __syncthreads();
  ak::Ring<3> ring;
  if (ak::warp_index() == 0) {
    for (int step = 0; ak::lane_index() == 0 && step < steps; ++step, ring.advance()) {
      ak::barrier_wait(ring.of(empty), ring.parity ^ 1);
      ak::barrier_expect(ring.of(full), 256);
      ak::bulk_load(ak::shared_address(stages[ring.stage]), x + step * 64, 256, ring.of(full));
    }
  } else {
    for (int step = 0; step < steps; ++step, ring.advance()) {
      ak::barrier_wait(ring.of(full), ring.parity);
      for (int i = ak::lane_index(); i < 64; i += 32) y[step * 64 + i] = 2 * stages[ring.stage][i];
      ak::barrier_arrive(ring.of(empty));
    }
  }
}

// ---- threads: one group of warps hands over to the other

__global__ void named_barriers(int* y) {
  __shared__ int words[32];
  if (ak::warp_index() == 0) {
    words[ak::lane_index()] = ak::lane_index() * 7;
    ak::named_barrier_arrive<64>(3);
  } else {
    ak::named_barrier<64>(3);
    y[ak::lane_index()] = words[31 - ak::lane_index()] + ak::uniform(ak::lane_index() + 1);
  }
}

// ---- rows: x and y are n halves that begin anywhere, alike

__global__ void row_copy(const __half* x, __half* y, int n) {
  const ak::UnalignedRow<__half, 8> row(x, n);
  for (int i = threadIdx.x; i < row.packs; i += blockDim.x) ak::store(y + row.pack(i), ak::load<8>(x + row.pack(i)));
  for (int i = threadIdx.x; i < row.singles; i += blockDim.x) y[row.single(i)] = x[row.single(i)];
}
__global__ void exp_sums(const float* x, float* maxima, float* sums) {
  ak::ExpSum sum = ak::no_exponentials();
  if (threadIdx.x != 5) sum = sum.with(x[threadIdx.x]).with(x[threadIdx.x + 64]);  // one thread has none
  sum = ak::reduce_row<64>(sum, ak::MergeExpSums());
  maxima[threadIdx.x] = sum.maximum;
  sums[threadIdx.x] = sum.sum;
}

// ---- select: 256 numbers sorted by 128 threads; 96 by a warp, one after the other

__global__ void sorted(const float* x, float* numbers, int* places) {
  __shared__ ak::u64 ranks[256];
  for (int i = threadIdx.x; i < 256; i += 128) ranks[i] = ak::rank_of(x[i], i);
  ak::sort_ranks<128>(ranks, 256);
  for (int i = threadIdx.x; i < 256; i += 128) {
    numbers[i] = ak::number_of(ranks[i]);
    places[i] = ak::place_of(ranks[i]);
  }
}
__global__ void one_by_one(const float* x, int* places) {
  ak::u64 ranks[3], rank = ~0ull;
  for (int i = 0; i < 3; ++i) ranks[i] = ak::rank_of(x[i * 32 + threadIdx.x], i * 32 + threadIdx.x);
  for (int i = 0; i < 96; ++i) {
    rank = ak::largest_below(rank, ranks);
    if (threadIdx.x == i % 32) places[i] = ak::place_of(rank);
  }
}

// ---- clusters

__global__ void cluster_sums(const float* x, float* y) {
  const float own = ak::reduce_row<64, 1, 5>(x[blockIdx.x * 64 + threadIdx.x], ak::Sum());
  y[blockIdx.x * 64 + threadIdx.x] = ak::reduce_cluster<4>(own, ak::Sum()) + 1000.0f * ak::cluster_rank();
  ak::cluster_sync();
}

// ---- rows

__global__ void rows_in_lanes(const float* x, float* squares, float* firsts, int columns) {
  distances<16, 4, false>(x, squares, firsts, columns);
}
__global__ void rows_in_warps(const float* x, float* squares, float* firsts, int columns) {
  distances<64, 2, false>(x, squares, firsts, columns);
}
__global__ void row_in_cluster(const float* x, float* squares, float* firsts, int columns) {
  distances<512, 1, true>(x, squares, firsts, columns);
}
__global__ void row_by_vectors(const float* x, float* sums, int columns) {
  float sum = 0.0f;
  ak::for_each_vector<32, 4, 2>(x, columns, [&](const float(&values)[4], int column) {
    for (int i = 0; i < 4; ++i) sum += values[i] * static_cast<float>(column < columns ? 1 : 1000);
  });
  sums[threadIdx.x] = sum;
}

// ---- tma: a box of 8 lines of 64 halves, swizzled in 128 bytes

__global__ void tma_box(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                        unsigned short* chunks) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ __align__(8) unsigned long long barrier;
  const ak::u32 full = ak::shared_address(&barrier), at = ak::shared_address(tile);
  if (threadIdx.x == 0) {
    ak::barrier_init(full, 1);
    ak::publish_barriers();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ak::prefetch_map(&from);
    ak::barrier_expect(full, 1024);
    ak::tma_load(at, &from, full, 64, 0);
  }
  ak::barrier_wait(full, 0);
  if (threadIdx.x == 0) {  // another box over it, which L2 need not keep
    ak::barrier_expect(full, 1024);
    ak::tma_load(at, &from, full, ak::evict_first(), 64, 8);
  }
  ak::barrier_wait(full, 1);
  for (int i = threadIdx.x; i < 64; i += blockDim.x)  // the first element of every chunk, by line and chunk
    chunks[i] = *reinterpret_cast<const unsigned short*>(tile + ak::swizzled(i / 8, i % 8));
  __syncthreads();
  if (threadIdx.x == 0) {
    ak::fence_shared_writes();
    ak::tma_store(&to, at, 0, 8);
    ak::commit_stores();
    ak::wait_stores<0>();
  }
}

__global__ void tma_multicast(const __grid_constant__ CUtensorMap from, unsigned short* y) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ __align__(8) unsigned long long barrier;
  const ak::u32 full = ak::shared_address(&barrier), at = ak::shared_address(tile);
  if (threadIdx.x == 0) {
    ak::barrier_init(full, 1);
    ak::publish_barriers();
    ak::barrier_expect(full, 1024);
  }
  ak::cluster_sync();
  if (threadIdx.x == 0 && ak::cluster_rank() == 0) ak::tma_load_multicast(at, &from, full, 3, 0, 0);
  ak::barrier_wait(full, 0);
  y[blockIdx.x * 8 + threadIdx.x] = *reinterpret_cast<const unsigned short*>(tile + ak::swizzled(threadIdx.x, 0));
  ak::cluster_sync();
}

// Boxes of 16 floats of tensors with 1, 3 and 4 dimensions, loaded one behind the other, added twice to `sums`, and stored
// from there on in `last`.
__global__ void tma_dimensions(const __grid_constant__ CUtensorMap one, const __grid_constant__ CUtensorMap three,
                               const __grid_constant__ CUtensorMap four, const __grid_constant__ CUtensorMap sums,
                               const __grid_constant__ CUtensorMap last) {
  __shared__ __align__(128) float boxes[3][32];
  __shared__ __align__(8) unsigned long long barrier;
  const ak::u32 full = ak::shared_address(&barrier);
  if (threadIdx.x != 0) return;
  ak::barrier_init(full, 1);
  ak::publish_barriers();
  ak::barrier_expect(full, 3 * 64);
  ak::tma_load(ak::shared_address(boxes[0]), &one, full, 8);
  ak::tma_load(ak::shared_address(boxes[1]), &three, full, 4, 1, 1);
  ak::tma_load(ak::shared_address(boxes[2]), &four, full, 4, 0, 1, 2);
  ak::barrier_wait(full, 0);
  for (int box = 0; box < 3; ++box) {
    ak::tma_add(&sums, ak::shared_address(boxes[box]), 0, box);
    ak::tma_add(&sums, ak::shared_address(boxes[box]), 0, box);
  }
  ak::tma_store(&last, ak::shared_address(boxes[2]), 0, 0, 0);
  ak::commit_stores();
  ak::wait_stores_read<0>();
  ak::wait_stores<0>();
}

// ---- barriers that copies and other blocks arrive at

__global__ void copies_arrive(const int* x, int* y) {
  __shared__ __align__(16) int words[128];
  __shared__ __align__(8) unsigned long long barrier;
  const ak::u32 full = ak::shared_address(&barrier);
  if (threadIdx.x == 0) ak::barrier_init(full, 32);
  __syncthreads();
  ak::copy_async(ak::shared_address(words + threadIdx.x * 4), x + threadIdx.x * 4);
  ak::barrier_arrive_after_copies(full);
  ak::barrier_wait(full, 0);
  y[threadIdx.x] = words[127 - threadIdx.x * 4];
}
// Vectors that lie in the next block of the cluster.
__global__ void neighbours_vectors(float4* y) {
  __shared__ float4 own[32];
  const ak::u32 rank = ak::cluster_rank(), next = (rank + 1) % ak::cluster_size();
  const float first = rank * 128.0f + threadIdx.x * 4.0f;
  own[threadIdx.x] = make_float4(first, first + 1, first + 2, first + 3);
  ak::cluster_sync();
  y[rank * 32 + threadIdx.x] =
      ak::load_remote_vector(ak::remote_address(ak::shared_address(own + threadIdx.x), next));
  ak::cluster_sync();
}
__global__ void neighbours(float* y) {
  __shared__ float own;
  __shared__ __align__(8) unsigned long long barrier;
  const ak::u32 rank = ak::cluster_rank(), next = (rank + 1) % ak::cluster_size();
  if (threadIdx.x == 0) {
    ak::barrier_init(ak::shared_address(&barrier), 1);
    ak::publish_barriers();
    own = 10.0f + rank;
  }
  ak::cluster_sync();
  if (threadIdx.x == 0) ak::barrier_arrive_at(ak::shared_address(&barrier), next);
  ak::barrier_wait(ak::shared_address(&barrier), 0);
  y[blockIdx.x * 32 + threadIdx.x] = ak::load_remote(ak::remote_address(ak::shared_address(&own), next));
  ak::cluster_sync();
}

// ---- copies: three buffers; what is at `count` or behind arrives as zeros

__global__ void copies(const int* x, int* y, int steps, int count) {
  __shared__ __align__(16) int buffers[3][128];
  const auto start = [&](int step) {
    const int first = step * 128 + threadIdx.x * 4;
    const bool inside = step < steps && first < count;
    ak::copy_async(ak::shared_address(&buffers[step % 3][threadIdx.x * 4]), inside ? x + first : x, inside);
    ak::commit_copies();
  };
  start(0);
  start(1);
  for (int step = 0; step < steps; ++step) {
    ak::wait_copies<1>();
    __syncthreads();
    start(step + 2);
    for (int i = threadIdx.x; i < 128; i += 32) y[step * 128 + i] = buffers[step % 3][127 - i];
  }
  ak::wait_copies<0>();
}
__global__ void small_copies(const int* x, int* y) {
  __shared__ __align__(16) int words[96];
  ak::copy_async<4>(ak::shared_address(words + threadIdx.x), x + threadIdx.x);
  ak::copy_async<8, 0>(ak::shared_address(words + 32 + threadIdx.x * 2), x + 32 + threadIdx.x * 2, threadIdx.x < 16);
  ak::commit_copies();
  ak::wait_copies<0>();
  __syncthreads();
  for (int i = threadIdx.x; i < 96; i += 32) y[i] = words[i];
}

__global__ void padded(const unsigned short* x, unsigned short* y, int lines, int width, int pitch) {
  ak::pad_lines(x, y, lines, width, pitch);
}

// Slices of 64 of k of pixels 4 to 19, of 12, of three images of 5 x 4 pixels of 24 channels and filters of 3 x 2 taps.
__global__ void pixel_slices(const unsigned short* images, unsigned short* y, int slices) {
  __shared__ __align__(1024) unsigned char tile[16 * 128];
  const ak::Convolution of = {3, 5, 4, 3, 3, 2, 2, 2};
  ak::PixelCopies<16, 128, 32, 2, 1, 2> copies(of, 4);
  for (int slice = 0; slice < slices; ++slice) {
    copies.start(ak::shared_address(tile), images, of);
    ak::commit_copies();
    ak::wait_copies<0>();
    __syncthreads();
    for (int i = threadIdx.x; i < 16 * 64; i += 32) {
      const unsigned char* from = tile + ak::swizzled(i / 64, i % 64 / 8) + i % 8 * 2;
      y[slice * 16 * 64 + i] = *reinterpret_cast<const unsigned short*>(from);
    }
    __syncthreads();
  }
}

// The first i % 5 bytes of word i, and the first i % 9 of pair i.
__global__ void heads(const int* x, int* y) {
  __shared__ __align__(16) int words[96];
  const int i = threadIdx.x;
  ak::copy_async_head(ak::shared_address(words + i), x + i, i % 5);
  ak::copy_async_head<8>(ak::shared_address(words + 32 + i * 2), x + 32 + i * 2, i % 9);
  ak::commit_copies();
  ak::wait_copies<0>();
  __syncthreads();
  for (int at = i; at < 96; at += 32) y[at] = words[at];
}

// ---- functions and epilogue

__global__ void functions(const float* x, float* y, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const float v = x[i];
    const float all[] = {ak::relu(v),           ak::silu(v),         ak::gelu(v),        ak::fast_silu(v),
                         ak::fast_gelu_tanh(v), ak::gelu_tanh(v),    ak::gelu_to_16_bits(v), ak::fast_exp(v),
                         ak::fast_reciprocal(v), ak::swiglu(v, 2.0f), ak::geglu(v, 3.0f), ak::geglu_tanh(v, 4.0f)};
    for (int f = 0; f < 12; ++f) y[f * count + i] = all[f];
  }
}
__global__ void powers_of_two(const float* x, float* powers, float* larger, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    powers[i] = ak::exp2_by_fma(x[i]);
    larger[i] = ak::maximum_or_nan(x[i], 0.5f);
  }
}
__global__ void epilogue(const float* sums, const __half* bias, const __half* residual, const float* rows, float* y) {
  const int row = threadIdx.y, column = threadIdx.x, at = row * 8 + column;
  const auto steps = ak::chain(ak::Scale{2.0f}, ak::ScaleRows{rows}, ak::ScaleColumns{rows}, ak::AddBias<__half>{bias},
                               ak::AddResidual<__half>{residual, 8, 0.5f}, ak::Apply<ak::relu>{});
  y[at] = steps(sums[at], row, column);
}

// ---- philox

__global__ void random_words(unsigned long long seed, unsigned long long first, unsigned int stream, uint4* y) {
  y[threadIdx.x] = ak::philox(seed, first + threadIdx.x, stream);
}
__global__ void chosen(unsigned long long seed, float p, bool* eight, bool* single) {
  const ak::Dropout dropout(seed, p);
  const unsigned int first = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  bool stay[8], one[1];
  dropout.choose(stay, first);
  for (int i = 0; i < 8; ++i) {
    eight[first + i] = stay[i];
    dropout.choose(one, first + i);
    single[first + i] = one[0];
  }
}
__global__ void dropout(unsigned long long seed, float p, float* four, float* single) {
  const ak::Dropout drop(seed, p);
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  float x[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  drop.apply(x, first);
  for (int i = 0; i < 4; ++i) four[first + i] = x[i];
  for (int i = 0; i < 4; ++i) single[first + i] = drop.at(1.0f, first + i);
}

// ---- narrow

__global__ void fp8(const float* x, unsigned int* e4m3, unsigned int* e5m2, float* back) {
  const float* four = x + threadIdx.x * 4;
  e4m3[threadIdx.x] = ak::pack_fp8<ak::e4m3>(four[0], four[1], four[2], four[3]);
  e5m2[threadIdx.x] = ak::pack_fp8<ak::e5m2>(four[0], four[1], four[2], four[3]);
  const __half2 low = ak::unpack_fp8<ak::e4m3>(e4m3[threadIdx.x]), high = ak::unpack_fp8<ak::e5m2>(e5m2[threadIdx.x] >> 16);
  back[threadIdx.x * 4] = __low2float(low);
  back[threadIdx.x * 4 + 1] = __high2float(low);
  back[threadIdx.x * 4 + 2] = __low2float(high);
  back[threadIdx.x * 4 + 3] = __high2float(high);
}
__global__ void quantised(const float* x, unsigned char* codes, float* scales) {
  const float largest = ak::reduce_lanes(fabsf(x[threadIdx.x]), ak::Maximum());
  const float numbers[1] = {x[threadIdx.x]};
  codes[threadIdx.x] = ak::quantise<ak::e4m3>(numbers, ak::factor_of<ak::e4m3>(largest)).value[0];
  codes[32 + threadIdx.x] = ak::quantise<ak::e5m2>(numbers, ak::factor_of<ak::e5m2>(largest)).value[0];
  codes[64 + threadIdx.x] = ak::quantise<ak::s8>(numbers, ak::factor_of<ak::s8>(largest)).value[0];
  scales[0] = ak::scale_of<ak::e4m3>(largest);
  scales[1] = ak::scale_of<ak::e5m2>(largest);
  scales[2] = ak::scale_of<ak::s8>(largest);
}
// Without the instruction, as before sm_89.
__global__ void fp8_of_bits(const unsigned int* first, unsigned char* e4m3, unsigned char* e5m2) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = __uint_as_float(first[0] + (i << 12));
  e4m3[i] = static_cast<unsigned char>(ak::fp8_of<ak::e4m3>(x));
  e5m2[i] = static_cast<unsigned char>(ak::fp8_of<ak::e5m2>(x));
}
__global__ void four_bits(const unsigned int* x, float* halves, float* bfloats, int* whole, unsigned int* again) {
  __half2 h[4];
  __nv_bfloat162 b[4];
  ak::unpack_int4(x[threadIdx.x], h);
  ak::unpack_int4(x[threadIdx.x], b, 3);
  int numbers[8];
  for (int i = 0; i < 8; ++i) {
    const int at = threadIdx.x * 8 + i;
    halves[at] = i < 4 ? __low2float(h[i]) : __high2float(h[i - 4]);
    bfloats[at] = i < 4 ? __low2float(b[i]) : __high2float(b[i - 4]);
    whole[at] = numbers[i] = ak::int4_at(x[threadIdx.x], i);
  }
  again[threadIdx.x] = ak::pack_int4(numbers);
}
__global__ void eight_bits(const float* x, unsigned int* y) { y[0] = ak::pack_int8(x[0], x[1], x[2], x[3]); }
__global__ void pairs(const float* x, unsigned int* y, float* back) {
  y[0] = ak::pack_pair<ak::bf16>(x[0], x[1]);
  y[1] = ak::pack_pair<ak::f16>(x[0], x[1]);
  y[2] = ak::round_to_tf32(x[2]);
  const float2 b = ak::unpack_pair<ak::bf16>(y[0]), h = ak::unpack_pair<ak::f16>(y[1]);
  back[0] = b.x, back[1] = b.y, back[2] = h.x, back[3] = h.y;
}

// ---- tiles

__global__ void grouped(int* counts, int* rows, int down, int across) {
  for (int i = threadIdx.x; i < down * across; i += blockDim.x) {
    const ak::TilePlace at = ak::grouped_place<4>(i, down, across);
    rows[i] = at.row;
    atomicAdd(&counts[at.row * across + at.column], 1);
  }
}
__global__ void shared_slices(int* counts, int* owners, int tiles, int slices) {
  ak::StreamK work(tiles, slices, blockIdx.x, gridDim.x);
  while (work.more()) {
    const ak::TilePart part = work.next();
    for (int i = 0; i < part.count; ++i) atomicAdd(&counts[part.tile * slices + part.first + i], 1);
    if (part.first_part) atomicAdd(&owners[part.tile], 1);
    if (part.last_part) atomicAdd(&owners[part.tile], 100);
  }
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    for (int split = 0; split < 3; ++split) {
      const ak::TilePart part = ak::split_part<3>(tile, slices, split);
      for (int i = 0; i < part.count; ++i) atomicAdd(&counts[tile * slices + part.first + i], 10);
    }
  }
}

// ---- attention: keys that each query sees, and tiles of 4 keys that it and the next two see; exponents of scores

__global__ void seen_keys(int4* found, int queries, int keys) {
  const ak::SeenKeys<true, 5> seen{queries, keys};
  const int query = threadIdx.x;
  const ak::KeyTiles tiles = seen.tiles<4>(query, query + 2);
  found[query] = make_int4(seen.begin(query), seen.end(query), tiles.begin, tiles.end);
}
__global__ void values_along_keys(const unsigned char* values, unsigned char* lines, int keys) {
  ak::transpose_values(values, lines, keys, 32);
}
__global__ void score_exponents(const float* products, const float* slopes, float* exponents) {
  const ak::ScoreExponents<16, 30, true> exponent(slopes, 1);
  exponents[threadIdx.x] = exponent(products[threadIdx.x], static_cast<float>(threadIdx.x) - 3.0f);
}

// ---- decode: of every line 8 columns out of `used` parts; of every row of a key head its line and the keys that it sees

__global__ void decoded(const float* means, const float* logarithms, __half* o, float* lse, int splits, int used) {
  ak::combine_decoded<8>(means, logarithms, o, lse, threadIdx.x / 2, threadIdx.x % 2 * 4, splits, used);
}
// The same: a block a part, all of them a cluster; the last block adds. Two threads a line, of which there are three.
__global__ void decoded_in_cluster(const float* means, const float* logarithms, __half* o, float* lse, int splits, int used) {
  __shared__ __align__(16) float mean[3][8], logarithm[3];
  const int line = threadIdx.x / 2, column = threadIdx.x % 2 * 4, part = line * splits + blockIdx.x;
  for (int i = 0; i < 4; ++i) mean[line][column + i] = means[part * 8 + column + i];
  if (column == 0) logarithm[line] = logarithms[part];
  ak::cluster_sync();
  if (blockIdx.x == splits - 1)
    ak::combine_cluster<8>(ak::shared_address(&mean[line][column]), ak::shared_address(&logarithm[line]), o, lse, line, column, used);
  ak::cluster_sync();
}
__global__ void decode_rows(int2* found, int queries, int hq, int hkv, int length) {
  const ak::DecodeRows rows{queries, hq, hkv};
  const int at = threadIdx.x, row = at % rows.count();
  found[at] = make_int2(rows.line(1, at / rows.count(), row), rows.seen(row, length));
}

// ---- groups: for every tile its group, its number there, and the group's rows

__global__ void tiles_by_offsets(const int* offsets, int groups, int height, int across, int4* found) {
  ak::GroupTiles<ak::RowsByOffsets> tiles({offsets}, groups, height, across);
  ak::GroupTile tile;
  for (int at = blockIdx.x; tiles.find(at, tile); at += gridDim.x) {
    if (threadIdx.x == 0) found[at] = make_int4(tile.group, tile.index, tile.rows.begin, tile.rows.count);
  }
}
__global__ void tiles_by_counts(const int* counts, int groups, int height, int across, int4* found) {
  ak::GroupTiles<ak::RowsByCounts> tiles({counts, 100}, groups, height, across);
  ak::GroupTile tile;
  for (int at = blockIdx.x; tiles.find(at, tile); at += gridDim.x) {
    if (threadIdx.x == 0) found[at] = make_int4(tile.group, tile.index, tile.rows.begin, tile.rows.count);
  }
}

// ---- routing

__global__ void count_choices(const int* ids, int pairs, int experts, int* counts) {
  __shared__ int found[64];
  ak::count_pairs(ids, pairs, experts, counts, found);
}
__global__ void sort_choices(const int* ids, int pairs, int experts, const int* counts, int* offsets, int* order,
                             int* places) {
  __shared__ int words[64 * ak::kRoutingWords];
  ak::sort_pairs(ids, pairs, experts, counts, offsets, order, places, words);
}
__global__ void combine(const __half* y, const int* places, const float* weights, __half* out, int tokens, int k) {
  ak::combine_pairs(y, places, weights, out, tokens, k, 16);
}

// ---- panels: result i of a thread is 64 * row + column, modulo 2048

__global__ void panel(__half* out, int rows, int columns) {
  __shared__ __align__(1024) unsigned char memory[ak::kPanelBytes];
  const int lane = ak::lane_index(), warp = ak::warp_index();
  ak::fill_panel<ak::f16>(ak::shared_address(memory), [&](int i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    return static_cast<float>((row * 64 + column) % 2048);
  });
  __syncthreads();
  ak::copy_panel(out, 72, ak::shared_address(memory), rows, columns);
}

// ---- products of 64 rows of a, in the order of `rows`, and 32 lines of b: `depth` halves of k each, a multiple of 8

__global__ void gathered_product(const __half* a, const int* rows, const __half* b, __half* c, int count, int depth) {
  using Product = ak::BlockProduct<ak::f16, 64, 32, 32, 16, 64, 3>;
  __shared__ __align__(1024) unsigned char memory[3 * Product::kStageBytes];
  const Product::CopiesA lines_a(a, [&](int line) { return line < count ? a + rows[line] * depth : nullptr; });
  const Product::CopiesB lines_b(b, [&](int line) { return b + line * depth; });
  Product::Sums sums = {};
  int slices_done = 0;
  Product::add(sums, ak::shared_address(memory), (depth + 31) / 32, [&](int slice, ak::u32 to_a, ak::u32 to_b) {
    lines_a.start(to_a, slice * 64, depth * 2);
    lines_b.start(to_b, slice * 64, depth * 2);
  }, [&](int slice) { slices_done += slice; });
  __half* staged = reinterpret_cast<__half*>(memory + ak::warp_index() * ak::kStoredBytes<__half, 2>);
  const int first = Product::warp_row(), column = Product::warp_column();
  ak::store_tile(staged, sums, 24 - column, [&](int y) {
    return first + y < count ? c + (first + y) * 24 + column : nullptr;
  });
}
__global__ void ring_product(const __half* a, const int* rows, const __half* b, float* c, int count, int depth) {
  using Slices = ak::SliceRing<ak::f16, 64, 32, 1, 2>;
  __shared__ __align__(1024) unsigned char memory[Slices::kBytes];
  const Slices ring{ak::shared_address(memory)};
  if (threadIdx.x == 0) ring.init(127);
  __syncthreads();
  const int slices = (depth + 63) / 64;
  Slices::Place at;
  if (ak::warp_group() == 1) {
    const ak::LineCopies<64, 128, 128> lines_a(a, [&](int line) { return line < count ? a + rows[line] * depth : nullptr; });
    const ak::LineCopies<32, 128, 128> lines_b(b, [&](int line) { return b + line * depth; });
    for (int round = 0; round < 2; ++round) {
      for (int slice = 0; slice < slices; ++slice, at.advance()) {
        ak::barrier_wait(ring.empty(at.stage), at.parity ^ 1);
        lines_a.start(ring.a(at.stage), slice * 128, depth * 2);
        lines_b.start(ring.b(at.stage), slice * 128, depth * 2);
        ak::barrier_arrive_after_copies(ring.full(at.stage));
      }
    }
    ak::wait_copies<0>();
  } else {
    Slices::Sums sums;
    ring.skip(at, slices);  // the first round is not for this group
    ring.sum<true>(at, slices, 0, sums);
    for (int i = 0; i < 16; ++i) {
      const int row = ak::warp_index() * 16 + ak::lane_index() / 4 + i / 2 % 2 * 8;
      c[row * 32 + i / 4 * 8 + ak::lane_index() % 4 * 2 + i % 2] = sums[0][i];
    }
  }
}

}  // extern "C"

// ---- stream_k: the sums of numbers 1, 2, ... of every tile's slices, times the thread's number

template <bool STREAMED>
__global__ void streamed_sums(int* parts, unsigned int* arrived, int* totals, int tiles, int slices) {
  using Work = ak::TilesOf<STREAMED>;
  Work work(blockIdx.x, gridDim.x, tiles, slices);
  const ak::LeftSums<int, 2> left = {parts, arrived};
  while (work.more()) {
    const ak::TilePart part = work.next();
    int d[1][2] = {{0, 0}};
    for (int i = part.first; i < part.first + part.count; ++i) {
      d[0][0] += (part.tile * slices + i) * static_cast<int>(threadIdx.x);
      d[0][1] += 1;
    }
    if (!left.complete(d, work, part, 1, 0, 1)) continue;
    totals[(part.tile * 128 + threadIdx.x) * 2] = d[0][0];
    totals[(part.tile * 128 + threadIdx.x) * 2 + 1] = d[0][1];
  }
}

__global__ void skipped_stages(int* places) {
  ak::Ring<3> stepped, skipped;
  for (int i = 0; i < 5; ++i) stepped.advance();
  skipped.skip(5);
  places[0] = stepped.stage, places[1] = skipped.stage;
  places[2] = stepped.parity, places[3] = skipped.parity;
}

// ---- product_epilogue: sums row * 100 + column of a warp's 16 x 32

struct Everything : ak::EpilogueOptions<float, float, signed char> {
  static constexpr bool kBias = true, kScales = true, kQuantised = true;
  static constexpr ak::Activation kActivation = ak::Activation::relu;
  static constexpr ak::Residual kResidual = ak::Residual::scaled;
};
struct Gated : ak::EpilogueOptions<float, float, float> {
  static constexpr bool kDropout = true;
  static constexpr ak::Gate kGate = ak::Gate::swiglu;
  static constexpr ak::Residual kResidual = ak::Residual::added;
};
__device__ void warp_of_sums(float (&sums)[16]) {
  const int lane = ak::lane_index();
  for (int i = 0; i < 16; ++i) sums[i] = (lane / 4 + i / 2 % 2 * 8) * 0.5f + i / 4 * 8 + lane % 4 * 2 + i % 2 - 10;
}
__global__ void epilogue_of_everything(const float* bias, const float* residual, const float* rows, const float* columns,
                                       const float* numbers, signed char* c, int m, int n) {
  __shared__ __align__(16) float staged[16 * ak::kStagedPitch<32>];
  float sums[16];
  warp_of_sums(sums);
  const ak::ProductEpilogue<Everything> epilogue(
      {bias, residual, rows, columns, numbers, numbers + 1, numbers + 2, nullptr, nullptr}, n);
  ak::write_rows<32>(sums, staged, epilogue, c, 0, 0, m);
}
__global__ void epilogue_of_pairs(const float* residual, const long long* seed, const float* p, float* c, int m, int n) {
  __shared__ __align__(16) float staged[16 * ak::kStagedPitch<32>];
  float sums[16];
  warp_of_sums(sums);
  const ak::ProductEpilogue<Gated> epilogue(
      {nullptr, residual, nullptr, nullptr, nullptr, nullptr, nullptr, seed, p}, n);
  ak::write_rows<32>(sums, staged, epilogue.of(1, m), c, 0, 0, m);
}
