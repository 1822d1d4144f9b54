// SPDX-License-Identifier: Apache-2.0
#include <alphakernel/answer.h>

namespace alphakernel {
int half_of_the_answer();
int answer() { return 2 * half_of_the_answer(); }
}  // namespace alphakernel
