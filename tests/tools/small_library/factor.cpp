// SPDX-License-Identifier: Apache-2.0
namespace alphakernel {
int factor();
int factor() { return 2; }
}  // namespace alphakernel
