// SPDX-License-Identifier: Apache-2.0
// Prints the bandwidth of a device-to-device copy of 1 GiB, GB/s counting bytes read and written: the median of 30.
// The yardstick of scripts/measure/benchmark_main_job.sh for kernels that are bound by memory.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
  constexpr size_t kBytes = size_t{1} << 30;
  constexpr int kSamples = 30;
  void *from = nullptr, *to = nullptr;
  if (cudaMalloc(&from, kBytes) != cudaSuccess || cudaMalloc(&to, kBytes) != cudaSuccess) return 5;
  cudaMemset(from, 1, kBytes);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  std::vector<float> times_ms(kSamples);
  for (float& time_ms : times_ms) {
    cudaEventRecord(start);
    cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice);
    cudaEventRecord(stop);
    if (cudaEventSynchronize(stop) != cudaSuccess) return 5;
    cudaEventElapsedTime(&time_ms, start, stop);
  }
  std::sort(times_ms.begin(), times_ms.end());
  std::printf("copy_gbps,%.0f\n", 2.0 * kBytes / times_ms[kSamples / 2] / 1e6);
}
