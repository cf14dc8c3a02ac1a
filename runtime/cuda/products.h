// Matrix products, with the conversion of their operands and the steps after them.
#pragma once

#include "cuda/context.h"

namespace LINFORMER_NAMESPACE::cuda {

// Computes c = a b + bias for each matrix of the operands. With `transposed` it computes a b^T, and with `adds` it adds
// the product to c. `bias` has one element for each column, or is null. `usual_rows` is the number of rows that the
// algorithm is chosen for if c may have another number of rows in each call. If it is 0, the session's usual number is
// taken.
Status product(Context& context, const Operand& a, const Operand& b, bool transposed, const Operand& c, bool adds,
               const float* bias = nullptr, int64_t usual_rows = 0);
// Computes c = activation(c + row_bias + bias). A bias that is null is not added.
Status finish(Context& context, const Operand& c, const float* bias, const float* row_bias, Activation activation);
// Copies rows in f32 to another matrix, and converts them to its type. If `to` has more rows than `from`, the
// additional rows are set to zero.
Status copy_converted(Context& context, const Operand& from, const Operand& to);
// Returns the rows of sequences in the type of products, so that E can be multiplied by them. If the type is f32,
// `rows` is returned unchanged. If the type has 16 bits, the rows are converted to it in the scratch memory, with zero
// rows up to a multiple of 8.
Result<Operand> narrowed(Context& context, const Operand& rows);
// Computes out = E rows for each sequence of the operands. E has k rows. The products of long sequences are computed in
// slices, in parallel, and then added. The slices depend only on the length of the sequence.
Status multiply_e(Context& context, const DeviceTensor& e, int64_t k, const Operand& rows, const Operand& out);
// Multiplies the compressed rows of sequences with n rows by the factors that `scale` and n give for the rows of `e`.
Status scale_by_length(Context& context, LengthScale scale, const View& e, int64_t n, const Operand& rows);

}  // namespace LINFORMER_NAMESPACE::cuda
