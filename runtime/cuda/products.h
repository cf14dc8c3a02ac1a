// Products, and what is done with their operands before and their results after them.
#pragma once

#include "cuda/context.h"

namespace LINFORMER_NAMESPACE::cuda {

// Computes c = a b + bias for each matrix of the operands; `transposed`: a b^T; `adds`: adds to c. `bias` has one
// element for each column. usual_rows: the rows that such a product usually has, where c has another number in each
// call.
Status product(Context& context, const Operand& a, const Operand& b, bool transposed, const Operand& c, bool adds,
               const float* bias = nullptr, int64_t usual_rows = 0);
// Computes c = activation(c + row_bias + bias). A bias that is null is not added.
Status finish(Context& context, const Operand& c, const float* bias, const float* row_bias, Activation activation);
// Rows in f32 become those of another matrix, in its type; it may have more rows, which become zero.
Status copy_converted(Context& context, const Operand& from, const Operand& to);
// Sequences' rows in f32 as E is multiplied with them: as they are, or in 16 bits with zeros up to a multiple of 8
// rows.
Result<Operand> narrowed(Context& context, const Operand& rows);
// out = E rows, for each of the operands' sequences; E has k rows. Many rows are added up in slices, side by side on
// the device: how they are cut depends on their number alone.
Status multiply_e(Context& context, const DeviceTensor& e, int64_t k, const Operand& rows, const Operand& out);
// Multiplies the compressed rows of sequences of n rows, all rows of each, by what n makes of them.
Status scale_by_length(Context& context, LengthScale scale, const View& e, int64_t n, const Operand& rows);

}  // namespace LINFORMER_NAMESPACE::cuda
