/* alphakernel
{
  "tunables": {"BLOCK": [128, 256], "FAST": [0, 1]},
  "constraints": ["N % BLOCK == 0", "BLOCK <= 1024"],
  "let": {"blocks": "M * (N // BLOCK)"},
  "workspace": [{"name": "sums", "dtype": "float32", "count": "blocks", "init": "zero"}],
  "launches": [
    {"kernel": "partial", "grid": ["blocks"], "block": ["BLOCK"], "shared_bytes": "4 * BLOCK",
     "args": ["x", "sums", {"i64": "M"}, {"f32": 1.5}]},
    {"kernel": "total", "grid": [1], "block": [32], "args": ["sums", "y", {"i32": "blocks"}]}
  ],
  "options": ["maxrregcount=64"]
}
*/
