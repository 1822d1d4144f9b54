// What the compiler makes of the language: calls, switches, structs by value, printf, assert.
#include <assert.h>
#include <stdio.h>

struct Big {
  int values[10];
  double weight;
  char name;
};

__noinline__ __device__ int gcd(int a, int b) {
  while (b != 0) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

__noinline__ __device__ Big transform(Big big, int by) {
  for (int& value : big.values) value = value * by + gcd(value, by);
  big.weight /= by;
  ++big.name;
  return big;
}

__noinline__ __device__ void swap_pair(int* a, int* b) {
  const int old = *a;
  *a = *b;
  *b = old;
}

extern "C" __global__ void calls(const int* in, Big start, double* out) {
  int i = static_cast<int>(threadIdx.x), j = in[i];
  Big big = start;
  big.values[i % 10] = j;
  // Lanes differ in how often they call, and some do not call at all.
  for (int round = 0; round < i % 4; ++round) big = transform(big, round + 2);
  swap_pair(&i, &j);
  double sum = big.weight + big.name + i + 1000.0 * j;
  for (const int value : big.values) sum += value;
  out[threadIdx.x] = sum;
}

extern "C" __global__ void switches(const int* in, int* out) {
  const int i = static_cast<int>(threadIdx.x);
  int value = in[i];
  for (int round = 0; round < 3; ++round) {
    switch ((value + round) % 11) {
      case 0: value += 7; break;
      case 1: value = value * 3 + 1; break;
      case 2: value ^= 0x55; [[fallthrough]];
      case 3: value -= 4; break;
      case 4: value = __popc(value) + 100; break;
      case 5: value = value << 2; break;
      case 6: value = gcd(value, 36); break;
      case 7: value += i; break;
      case 8: if (i % 2) continue; value = 17; break;
      case 9: value = value / 7; break;
      default: value = -value + 999; break;
    }
    value &= 0xFFFF;
  }
  out[i] = value;
}

extern "C" __global__ void early_exits(const int* in, int* out) {
  const int i = static_cast<int>(threadIdx.x);
  out[i] = -1;
  if (in[i] % 7 == 0) return;
  int steps = 0;
  for (unsigned long long n = static_cast<unsigned>(in[i]) + 1; n != 1; ++steps) {
    if (steps == 60) break;
    if (n % 2 != 0) {
      n = 3 * n + 1;
      continue;
    }
    n /= 2;
    if (steps > 50 && n > 1000) {
      out[i] = -2;
      return;
    }
  }
  out[i] = steps;
}

__constant__ int constant_table[16] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};
__device__ int device_table[4] = {10, 20, 30, 40};
__device__ const int* device_pointer = device_table + 1;

extern "C" __global__ void tables(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  int stack[8];
  for (int k = 0; k < 8; ++k) stack[(k * 3) % 8] = constant_table[(k + i) % 16];
  out[i] = stack[i % 8] + device_pointer[i % 3] * 100;
}

extern "C" __global__ void prints(const int* in, double real) {
  const int i = static_cast<int>(threadIdx.x);
  printf("plain\n");
  printf("[%d|%5d|%-5d|%05d|%+d]\n", in[i], in[i], in[i], in[i], in[i]);
  printf("[%u|%x|%X|%#x|%o|%c]\n", 4000000000u, 48879, 48879, 255, 8, 'A' + i);
  printf("[%lld|%llu|%ld|%zu|%llx]\n", -5000000000ll, 18446744073709551615ull, -7l, sizeof(Big), 1ll << 40);
  printf("[%f|%.3f|%10.2f|%e|%g|%G|%.0f]\n", real, real, real, real, real, 1e-10, 2.5);
  printf("[%s|%10s|%-10s|%.2s]%%\n", "text", "right", "left", "cut");
  printf("%d %s %f %lld %c %g\n", i, "mixed", 1.5f, 1ll << 33, 'z', 0.1);
}

extern "C" __global__ void asserts(const int* in, int* out) {
  const int i = static_cast<int>(threadIdx.x);
  assert(in[i] >= 0 && "inputs are not negative");
  out[i] = in[i];
}

__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
extern "C" __global__ void function_pointers(const int* in, int* out) {
  int (*const functions[2])(int) = {twice, square};
  out[threadIdx.x] = functions[in[threadIdx.x] & 1](in[threadIdx.x]);
}

extern "C" __global__ void integers(const int* in, long long* out) {
  const int i = static_cast<int>(threadIdx.x), a = in[i], b = in[(i + 1) % 32] + 1;
  const long long wide = (static_cast<long long>(a) << 32) ^ (b * 0x9E3779B97F4A7C15ll);
  long long* to = out + i * 16;
  to[0] = wide / b;
  to[1] = wide % (a + 3);
  to[2] = static_cast<long long>(static_cast<unsigned long long>(wide) / static_cast<unsigned>(b));
  to[3] = __mulhi(a * 65537, b * 4099);
  to[4] = static_cast<long long>(__umul64hi(static_cast<unsigned long long>(wide), 0xFFFFFFFF00000001ull));
  to[5] = __brev(static_cast<unsigned>(a)) + __clzll(wide) + __ffsll(wide) + __popcll(static_cast<unsigned long long>(wide));
  to[6] = __byte_perm(static_cast<unsigned>(a), static_cast<unsigned>(b), 0x5140);
  to[7] = __funnelshift_l(static_cast<unsigned>(a), static_cast<unsigned>(b), 13);
  to[8] = __vadd4(static_cast<unsigned>(wide), static_cast<unsigned>(b));
  to[9] = __vabsdiffu4(static_cast<unsigned>(wide), static_cast<unsigned>(b) * 77u);
  to[10] = __dp4a(static_cast<int>(wide), b * 0x01020304, a);
  to[11] = __sad(a, b, 5u) + __usad(3u, 9u, 1u);
  to[12] = wide >> (b % 64);
  to[13] = static_cast<signed char>(wide) * static_cast<short>(wide >> 8);
  to[14] = __hadd(a, -b) + __rhadd(a, b);
  to[15] = __vcmpgts2(static_cast<unsigned>(wide), static_cast<unsigned>(b) << 7);
}
