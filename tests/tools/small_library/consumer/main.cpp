// SPDX-License-Identifier: Apache-2.0
#include <alphakernel/answer.h>

int main() { return alphakernel::answer() == 42 ? 0 : 1; }
