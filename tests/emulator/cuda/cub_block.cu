// Block and warp primitives of CUB. Blocks of 128 threads unless a kernel says otherwise.
#include <cub/cub.cuh>

constexpr int kThreads = 128, kItems = 4;

struct Affine {  // x -> a x + b; composition does not commute
  unsigned a, b;
};
struct Compose {
  __device__ Affine operator()(Affine f, Affine g) const { return {f.a * g.a, g.a * f.b + g.b}; }
};
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <class T, int N>
__device__ void read(const T* from, T (&items)[N]) {
  for (int i = 0; i < N; ++i) items[i] = from[threadIdx.x * N + i];
}
template <class T, int N>
__device__ void write(T* to, const T (&items)[N]) {
  for (int i = 0; i < N; ++i) to[threadIdx.x * N + i] = items[i];
}

// ---- reductions: out[0]: sum of all, [1]: maximum of first items, [2]: sum of second items of `valid` threads

template <cub::BlockReduceAlgorithm Algorithm>
__device__ void reduce(const int* in, int* out, int valid) {
  using Reduce = cub::BlockReduce<int, kThreads, Algorithm>;
  __shared__ typename Reduce::TempStorage temp;
  int items[kItems];
  read(in, items);
  const int sum = Reduce(temp).Sum(items);
  __syncthreads();
  const int most = Reduce(temp).Reduce(items[0], Larger{});
  __syncthreads();
  const int part = Reduce(temp).Sum(items[1], valid);
  if (threadIdx.x == 0) {
    out[0] = sum;
    out[1] = most;
    out[2] = part;
  }
  __syncthreads();
}

template <cub::BlockReduceAlgorithm Algorithm>
__device__ void reduce_in_order(const int* in, Affine* out) {
  using Reduce = cub::BlockReduce<Affine, kThreads, Algorithm>;
  __shared__ typename Reduce::TempStorage temp;
  const Affine mine{2u * threadIdx.x + 1, static_cast<unsigned>(in[threadIdx.x])};
  const Affine all = Reduce(temp).Reduce(mine, Compose{});
  if (threadIdx.x == 0) *out = all;
}

extern "C" __global__ void block_reduce(const int* in, int* out, Affine* composed, int valid) {
  reduce<cub::BLOCK_REDUCE_RAKING>(in, out, valid);
  reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(in, out + 3, valid);
  reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out + 6, valid);
  reduce_in_order<cub::BLOCK_REDUCE_RAKING>(in, composed);
  reduce_in_order<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, composed + 1);
}

// ---- scans: `out` inclusive, `exclusive` sums, running prefix over two tiles

struct Running {
  int total;
  __device__ int operator()(int aggregate) {
    const int before = total;
    total += aggregate;
    return before;
  }
};

template <cub::BlockScanAlgorithm Algorithm>
__device__ void scan(const int* in, int* out, Affine* composed) {
  using Scan = cub::BlockScan<int, kThreads, Algorithm>;
  using ScanAffine = cub::BlockScan<Affine, kThreads, Algorithm>;
  __shared__ union {
    typename Scan::TempStorage sums;
    typename ScanAffine::TempStorage maps;
  } temp;
  int items[kItems], results[kItems], total = 0;
  read(in, items);
  Scan(temp.sums).InclusiveSum(items, results);
  write(out, results);
  __syncthreads();
  Scan(temp.sums).ExclusiveSum(items, results, total);
  write(out + kThreads * kItems, results);
  if (threadIdx.x == kThreads - 1) out[3 * kThreads * kItems] = total;
  __syncthreads();
  Running running{1000};
  for (int tile = 0; tile < 2; ++tile) {
    int tail = in[tile * kThreads + threadIdx.x], before = 0;
    Scan(temp.sums).ExclusiveSum(tail, before, running);
    out[2 * kThreads * kItems + tile * kThreads + threadIdx.x] = before;
    __syncthreads();
  }
  Affine mine{2u * threadIdx.x + 1, static_cast<unsigned>(in[threadIdx.x])}, after;
  ScanAffine(temp.maps).InclusiveScan(mine, after, Compose{});
  composed[threadIdx.x] = after;
  __syncthreads();
}

extern "C" __global__ void block_scan(const int* in, int* out, Affine* composed) {
  constexpr int kOut = 3 * kThreads * kItems + 1;
  scan<cub::BLOCK_SCAN_RAKING>(in, out, composed);
  scan<cub::BLOCK_SCAN_RAKING_MEMOIZE>(in, out + kOut, composed + kThreads);
  scan<cub::BLOCK_SCAN_WARP_SCANS>(in, out + 2 * kOut, composed + 2 * kThreads);
}

// ---- radix sort

extern "C" __global__ void sort_floats(float* keys, int* values) {
  using Sort = cub::BlockRadixSort<float, kThreads, kItems, int>;
  __shared__ typename Sort::TempStorage temp;
  float key[kItems];
  int value[kItems];
  read(keys, key);
  read(values, value);
  Sort(temp).Sort(key, value);
  write(keys, key);
  write(values, value);
}

extern "C" __global__ void sort_wide_descending(long long* keys) {
  using Sort = cub::BlockRadixSort<long long, kThreads, 3>;
  __shared__ typename Sort::TempStorage temp;
  long long key[3];
  read(keys, key);
  Sort(temp).SortDescendingBlockedToStriped(key);
  for (int i = 0; i < 3; ++i) keys[i * kThreads + threadIdx.x] = key[i];
}

extern "C" __global__ void sort_some_bits(unsigned* keys) {
  using Sort = cub::BlockRadixSort<unsigned, kThreads, 2, cub::NullType, 5, true, cub::BLOCK_SCAN_RAKING>;
  __shared__ typename Sort::TempStorage temp;
  unsigned key[2];
  read(keys, key);
  Sort(temp).Sort(key, 8, 24);
  write(keys, key);
}

// ---- loads and stores: every way, of `valid` items

template <cub::BlockLoadAlgorithm In, cub::BlockStoreAlgorithm Out>
__device__ void load_store(const int* in, int* out, int valid) {
  using Load = cub::BlockLoad<int, kThreads, kItems, In>;
  using Store = cub::BlockStore<int, kThreads, kItems, Out>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } temp;
  int items[kItems];
  Load(temp.load).Load(in, items, valid, -1);
  __syncthreads();
  for (int i = 0; i < kItems; ++i) items[i] += 1000 * i;
  Store(temp.store).Store(out, items, valid);
  __syncthreads();
  Load(temp.load).Load(in, items);
  __syncthreads();
  for (int i = 0; i < kItems; ++i) items[i] += 1000 * i;
  Store(temp.store).Store(out + kThreads * kItems, items);
  __syncthreads();
}

extern "C" __global__ void block_load_store(const int* in, int* out, int valid) {
  constexpr int kOut = 2 * kThreads * kItems;
  load_store<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(in, out, valid);
  load_store<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>(in, out + kOut, valid);
  load_store<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(in, out + 2 * kOut, valid);
  load_store<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(in, out + 3 * kOut, valid);
  load_store<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(in, out + 4 * kOut, valid);
  load_store<cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>(
      in, out + 5 * kOut, valid);
}

// ---- histogram, exchange, discontinuity, neighbours

template <cub::BlockHistogramAlgorithm Algorithm>
__device__ void histogram(const unsigned char* in, unsigned* out) {
  constexpr int kBins = 64;
  using Histogram = cub::BlockHistogram<unsigned char, kThreads, kItems, kBins, Algorithm>;
  __shared__ typename Histogram::TempStorage temp;
  __shared__ unsigned bins[kBins];
  unsigned char items[kItems];
  read(in, items);
  Histogram(temp).Histogram(items, bins);
  __syncthreads();
  Histogram(temp).Composite(items, bins);
  __syncthreads();
  if (threadIdx.x < kBins) out[threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void block_histogram(const unsigned char* in, unsigned* out) {
  histogram<cub::BLOCK_HISTO_SORT>(in, out);
  histogram<cub::BLOCK_HISTO_ATOMIC>(in, out + 64);
}

extern "C" __global__ void block_exchange(const int* in, int* out, const int* ranks) {
  using Exchange = cub::BlockExchange<int, kThreads, kItems>;
  __shared__ typename Exchange::TempStorage temp;
  constexpr int kAll = kThreads * kItems;
  int items[kItems], rank[kItems];
  read(in, items);
  Exchange(temp).BlockedToStriped(items, items);
  write(out, items);
  __syncthreads();
  Exchange(temp).StripedToBlocked(items, items);
  write(out + kAll, items);
  __syncthreads();
  Exchange(temp).BlockedToWarpStriped(items, items);
  write(out + 2 * kAll, items);
  __syncthreads();
  Exchange(temp).WarpStripedToBlocked(items, items);
  write(out + 3 * kAll, items);
  __syncthreads();
  read(ranks, rank);
  Exchange(temp).ScatterToBlocked(items, items, rank);
  write(out + 4 * kAll, items);
}

struct Unequal {
  __device__ bool operator()(int a, int b) const { return a != b; }
};
struct Minus {
  __device__ int operator()(int a, int b) const { return a - b; }
};

extern "C" __global__ void block_neighbours(const int* in, int* heads, int* tails, int* left, int* right) {
  using Discontinuity = cub::BlockDiscontinuity<int, kThreads>;
  using Difference = cub::BlockAdjacentDifference<int, kThreads>;
  __shared__ union {
    typename Discontinuity::TempStorage discontinuity;
    typename Difference::TempStorage difference;
  } temp;
  int items[kItems], head[kItems], tail[kItems];
  read(in, items);
  Discontinuity(temp.discontinuity).FlagHeadsAndTails(head, tail, items, Unequal{});
  write(heads, head);
  write(tails, tail);
  __syncthreads();
  Difference(temp.difference).SubtractLeft(items, head, Minus{});
  write(left, head);
  __syncthreads();
  Difference(temp.difference).SubtractRight(items, tail, Minus{});
  write(right, tail);
}

// ---- warps

template <int Lanes>
__device__ void warp_reduce(const int* in, int* out) {
  using Reduce = cub::WarpReduce<int, Lanes>;
  // Of groups that are no power of two, CUB's member mask names only the first of a warp.
  constexpr int kInWarp = 32 % Lanes == 0 ? 32 / Lanes : 1;
  __shared__ typename Reduce::TempStorage temp[kThreads / 32 * kInWarp];
  const int lane = threadIdx.x % 32, group = threadIdx.x / 32 * kInWarp + lane / Lanes;
  if (lane >= kInWarp * Lanes) return;
  const int sum = Reduce(temp[group]).Sum(in[threadIdx.x]);
  if (lane % Lanes == 0) out[group] = sum;
}

extern "C" __global__ void warp_reduce_32(const int* in, int* out) { warp_reduce<32>(in, out); }
extern "C" __global__ void warp_reduce_8(const int* in, int* out) { warp_reduce<8>(in, out); }
extern "C" __global__ void warp_reduce_7(const int* in, int* out) { warp_reduce<7>(in, out); }

extern "C" __global__ void warp_segments(const int* in, int* out) {
  using Reduce = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage temp[kThreads / 32];
  const int head = threadIdx.x % 5 == 0;
  out[threadIdx.x] = 0;
  const int sum = Reduce(temp[threadIdx.x / 32]).HeadSegmentedSum(in[threadIdx.x], head);
  if (head || threadIdx.x % 32 == 0) out[threadIdx.x] = sum;
}

template <int Lanes>
__device__ void warp_scan(const int* in, int* inclusive, float* products) {
  using Scan = cub::WarpScan<int, Lanes>;
  using ScanLong = cub::WarpScan<float, Lanes>;
  __shared__ typename Scan::TempStorage temp[kThreads / Lanes];
  __shared__ typename ScanLong::TempStorage temp_float[kThreads / Lanes];
  int sum = 0;
  Scan(temp[threadIdx.x / Lanes]).InclusiveSum(in[threadIdx.x], sum);
  inclusive[threadIdx.x] = sum;
  float most = 0;
  ScanLong(temp_float[threadIdx.x / Lanes])
      .ExclusiveScan(static_cast<float>(in[threadIdx.x]), most, -1.0f, Larger{});
  products[threadIdx.x] = most;
}

extern "C" __global__ void warp_scan_32(const int* in, int* sums, float* most) { warp_scan<32>(in, sums, most); }
extern "C" __global__ void warp_scan_16(const int* in, int* sums, float* most) { warp_scan<16>(in, sums, most); }

extern "C" __global__ void warp_merge_sort(int* keys) {
  using Sort = cub::WarpMergeSort<int, kItems, 32>;
  __shared__ typename Sort::TempStorage temp[kThreads / 32];
  // CUB reads the element past the last one, and makes nothing of it; nothing but this writes it.
  for (int at = threadIdx.x; at < sizeof temp / 4; at += kThreads) reinterpret_cast<int*>(temp)[at] = 0;
  __syncthreads();
  int items[kItems];
  read(keys, items);
  Sort(temp[threadIdx.x / 32]).Sort(items, [](int a, int b) { return a < b; });
  write(keys, items);
}
