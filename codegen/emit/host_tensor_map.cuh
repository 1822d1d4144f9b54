struct TensorMapShape {
  CUtensorMapDataType type;
  std::vector<cuuint64_t> dims, strides_bytes;  // innermost dimension first
  std::vector<cuuint32_t> box, element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion l2_promotion;
  CUtensorMapFloatOOBfill oob_fill;
};

// The driver's function comes through the runtime, so that the program links without -lcuda.
inline CUtensorMap make_tensor_map(const Pointer& tensor, const TensorMapShape& shape) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  AK_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
  CUtensorMap map{};
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  const CUresult status =
      encode(&map, shape.type, static_cast<cuuint32_t>(shape.dims.size()), tensor.address, shape.dims.data(),
             shape.strides_bytes.data(), shape.box.data(), shape.element_strides.data(), shape.interleave, shape.swizzle,
             shape.l2_promotion, shape.oob_fill);
  AK_CHECK(status == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue /* the driver refuses the tensor map */);
  return map;
}
