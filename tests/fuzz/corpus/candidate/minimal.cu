/* alphakernel
{"launches": [{"kernel": "k", "grid": ["(M + 255) // 256"], "block": [256], "args": ["x", "y", {"i64": "M"}]}]}
*/
extern "C" __global__ void k(const float* x, float* y, long long n) {}
