// SPDX-License-Identifier: Apache-2.0
#include <alphakernel/answer.h>

namespace alphakernel {
int half_of_the_answer();
int factor();
int answer() { return factor() * half_of_the_answer(); }
}  // namespace alphakernel
