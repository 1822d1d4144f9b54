// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/precision/flow_step.h"

// What instructions do to the parts of floats that their operands hold: a function for each kind of instruction.
namespace ak::runtime::flow {

// flow_memory.cpp
void load(Step& step);
void store(Step& step);
void load_matrix(Step& step);
void store_matrix(Step& step);
/// Copies between memories: whatever they bring is data of the problem.
void copy(Step& step);
void call(Step& step);
/// Adds floats to memory, or exchanges integers.
void atomic(Step& step);

// flow_bits.cpp
void move(Step& step);
/// One of its sources, unchanged: selections, exchanges between lanes, the larger of two.
void choose(Step& step);
void select_all(Step& step);
void forget(Step& step);
void combine_bits(Step& step);
void complement(Step& step);
void any_function(Step& step);
/// Bits in an order that is not followed.
void disorder(Step& step);
void shift_left(Step& step);
void shift_right(Step& step);
/// shf: a window of 32 bits out of two words.
void shift_window(Step& step);
void permute(Step& step);
void extract_field(Step& step);
void insert_field(Step& step);

// flow_arithmetic.cpp
/// Arithmetic of floats: every operand has to be whole.
void compute(Step& step);
/// Products of vectors and matrices. Their operands lie in registers, or in shared memory behind a descriptor.
void multiply_matrices(Step& step);
void arithmetic(Step& step);
void negate(Step& step);

// flow_conversions.cpp
void convert(Step& step);

}  // namespace ak::runtime::flow
