// A device pointer that becomes whatever pointer type a kernel's parameter has, or the value of a scalar.
struct Pointer {
  void* address = nullptr;
  double real = 0;      // of a scalar
  long long whole = 0;  // the same, of an integer
  template <class T> operator T*() const { return static_cast<T*>(address); }
};

// A launch with attributes that <<<>>> has no place for.
class ExtendedLaunch {
 public:
  ExtendedLaunch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream = nullptr) {
    config_.gridDim = grid;
    config_.blockDim = block;
    config_.dynamicSmemBytes = shared_bytes;
    config_.stream = stream;
  }
  void cluster(unsigned int x, unsigned int y, unsigned int z) {
    cudaLaunchAttribute& attribute = add(cudaLaunchAttributeClusterDimension);
    attribute.val.clusterDim.x = x;
    attribute.val.clusterDim.y = y;
    attribute.val.clusterDim.z = z;
  }
  void cooperative() { add(cudaLaunchAttributeCooperative).val.cooperative = 1; }
  void programmatic() {
    add(cudaLaunchAttributeProgrammaticStreamSerialization).val.programmaticStreamSerializationAllowed = 1;
  }
  const cudaLaunchConfig_t* config() {
    config_.attrs = attributes_;
    return &config_;
  }

 private:
  cudaLaunchAttribute& add(cudaLaunchAttributeID id) {
    cudaLaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = id;
    return attribute;
  }
  cudaLaunchConfig_t config_{};
  cudaLaunchAttribute attributes_[3]{};
};
