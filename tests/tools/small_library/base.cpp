// SPDX-License-Identifier: Apache-2.0
namespace alphakernel {
int half_of_the_answer();
int half_of_the_answer() { return 21; }
}  // namespace alphakernel
