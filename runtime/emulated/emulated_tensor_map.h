// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

namespace ak::runtime {

/// cuTensorMapEncodeTiled of the CPU device: the same checks as the driver documents, and a
/// emulator::TensorMapDescriptor as the result. NOT_SUPPORTED for packed 4- and 6-bit elements.
CUresult encode_emulated_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                    void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                    const cuuint32_t* box, const cuuint32_t* element_strides,
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

}  // namespace ak::runtime
