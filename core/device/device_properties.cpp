// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/device/device_catalog.h"

namespace ak {
namespace {

constexpr std::string_view kRate = "op/clk/SM", kTera = "TFLOP/s", kFlag = "yes/no";

constexpr auto kProperties = std::to_array<DevicePropertyInfo>({
    {"sm_count", "", "multiprocessors"},
    {"base_clock_mhz", "MHz", "clock that is guaranteed"},
    {"boost_clock_mhz", "MHz", "highest clock of the data sheet"},
    {"tensor_clock_mhz", "MHz", "clock of the data sheet's tensor rates but fp64's, where it is another one"},
    {"memory_clock_mhz", "MHz", "memory clock as the driver reports it: two transfers per clock"},
    {"memory_bus_bits", "bit", "width of the memory bus"},
    {"memory_bandwidth_gbps", "GB/s", "memory bandwidth of the data sheet"},
    {"memory_gb", "GB", "memory as sold"},
    {"l2_mib", "MiB", "L2 cache"},
    {"power_limit_w", "W", "power limit as sold"},
    {"max_threads_per_sm", "", "resident threads"},
    {"max_blocks_per_sm", "", "resident blocks"},
    {"registers_per_sm", "", "32-bit registers"},
    {"max_registers_per_thread", "", "32-bit registers"},
    {"shared_bytes_per_sm", "B", "shared memory of an SM"},
    {"shared_bytes_per_block", "B", "most shared memory of a block, opted in"},
    {"tensor_memory_bytes_per_sm", "B", "tensor memory of an SM"},
    {"issue_slots", "warp/clk/SM", "warp instructions issued"},
    {"shared_bytes_per_clock", "B/clk/SM", "shared memory traffic without conflicts"},
    {"special_per_clock", "op/clk/SM", "special functions: rcp, rsqrt, ex2, lg2, sin, cos"},
    {"pipe/fp64", kRate, "ordinary float64 arithmetic, an FMA is two"},
    {"pipe/fp32", kRate, "ordinary float32 arithmetic, an FMA is two"},
    {"pipe/fp16", kRate, "ordinary float16 arithmetic in pairs, an FMA is two"},
    {"pipe/bf16", kRate, "ordinary bfloat16 arithmetic in pairs, an FMA is two"},
    {"pipe/int32", kRate, "32-bit integer additions"},
    {"tensor/fp64", kRate, "dense float64 matrix products"},
    {"tensor/tf32", kRate, "dense tf32 products, float32 sums"},
    {"tensor/fp16", kRate, "dense float16 products, float32 sums"},
    {"tensor/fp16_acc16", kRate, "dense float16 products, float16 sums"},
    {"tensor/bf16", kRate, "dense bfloat16 products, float32 sums"},
    {"tensor/fp8", kRate, "dense fp8 products, float32 sums"},
    {"tensor/fp8_acc16", kRate, "dense fp8 products, float16 sums"},
    {"tensor/fp4", kRate, "dense fp4 products, float32 sums"},
    {"tensor/int8", kRate, "dense int8 products, int32 sums"},
    {"feature/mma_sync", kFlag, "mma.sync"},
    {"feature/cp_async", kFlag, "cp.async"},
    {"feature/bf16", kFlag, "bfloat16 in mma.sync"},
    {"feature/fp8", kFlag, "fp8 in the matrix instructions"},
    {"feature/fp4", kFlag, "fp4 in the matrix instructions"},
    {"feature/tma", kFlag, "cp.async.bulk.tensor"},
    {"feature/clusters", kFlag, "thread block clusters, distributed shared memory"},
    {"feature/dependent_launch", kFlag, "griddepcontrol: programmatic dependent launch"},
    {"feature/wgmma", kFlag, "wgmma.mma_async"},
    {"feature/tcgen05", kFlag, "tcgen05.mma and tensor memory"},
    {"feature/mma_block_scale", kFlag, "mma.sync with block scales (mxfp8, mxfp4, nvfp4)"},
    {"sheet/pipe/fp64", kTera, "data sheet's rate"},
    {"sheet/pipe/fp32", kTera, "data sheet's rate"},
    {"sheet/pipe/fp16", kTera, "data sheet's rate"},
    {"sheet/pipe/bf16", kTera, "data sheet's rate"},
    {"sheet/tensor/fp64", kTera, "data sheet's rate"},
    {"sheet/tensor/tf32", kTera, "data sheet's rate, dense"},
    {"sheet/tensor/fp16", kTera, "data sheet's rate, dense"},
    {"sheet/tensor/fp16_acc16", kTera, "data sheet's rate, dense"},
    {"sheet/tensor/bf16", kTera, "data sheet's rate, dense"},
    {"sheet/tensor/fp8", kTera, "data sheet's rate, dense"},
    {"sheet/tensor/fp8_acc16", kTera, "data sheet's rate, dense"},
    {"sheet/tensor/fp4", kTera, "data sheet's rate, dense"},
    {"sheet/tensor/int8", "TOP/s", "data sheet's rate, dense"},
    {"measured/copy_gbps", "GB/s", "device-to-device copy, bytes read and written"},
    {"measured/read_gbps", "GB/s", "a kernel that only reads"},
    {"measured/gemm_bf16_tflops", kTera, "the best matrix product of a vendor's library"},
    {"measured/gemm_fp16_tflops", kTera, "the best matrix product of a vendor's library"},
});

}  // namespace

std::span<const DevicePropertyInfo> device_properties() { return kProperties; }

}  // namespace ak
