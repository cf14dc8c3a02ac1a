#include "backends/product_list.h"

#include <cinttypes>

namespace linformer {

bool same_shape(const ProductShape& a, const ProductShape& b) {
  return a.max_m == b.max_m && a.n == b.n && a.k == b.k && a.varying_k == b.varying_k && a.varying_n == b.varying_n &&
         a.layout == b.layout && a.type == b.type && a.activation == b.activation && a.bias == b.bias &&
         a.row_bias == b.row_bias && a.residual == b.residual && a.accumulate == b.accumulate;
}

Status check_shape(const ProductShape& shape) {
  // Far beyond any model (description.h), and small enough that products of two of them and an element fit in 64 bits.
  constexpr int64_t largest = int64_t{1} << 28;
  if (shape.max_m < 1 || shape.n < 1 || shape.k < 1 || shape.max_m > largest || shape.n > largest ||
      shape.k > largest) {
    return Status::error(Code::invalid_argument,
                         "a matrix product of %" PRId64 " x %" PRId64 " x %" PRId64 ": each must be 1 to %" PRId64,
                         shape.max_m, shape.n, shape.k, largest);
  }
  if (shape.type == ElementType::int8) {
    return Status::error(Code::unsupported, "int8 weights are not supported: convert the model to f32, bf16 or f16");
  }
  if (shape.layout == RightLayout::row_major && shape.type != ElementType::f32) {
    return Status::error(Code::unsupported, "a row-major right side must be f32, not %s", name_of(shape.type));
  }
  if (shape.accumulate && (shape.bias || shape.row_bias || shape.residual || shape.activation != Activation::none)) {
    return Status::error(Code::invalid_argument, "an accumulating product takes no bias, activation or residual");
  }
  return {};
}

Status check_arguments(const ProductShape& shape, const Product& arguments) {
  const bool n_fits = shape.varying_n ? arguments.n <= shape.n : arguments.n == shape.n;
  const bool k_fits = shape.varying_k ? arguments.k <= shape.k : arguments.k == shape.k;
  const Epilogue& epilogue = arguments.epilogue;
  const bool same_epilogue = (epilogue.bias != nullptr) == shape.bias &&
                             (epilogue.row_bias != nullptr) == shape.row_bias &&
                             (epilogue.residual != nullptr) == shape.residual &&
                             epilogue.activation == shape.activation && epilogue.accumulate == shape.accumulate;
  if (arguments.m >= 0 && arguments.n >= 0 && arguments.k >= 0 && arguments.m <= shape.max_m && n_fits && k_fits &&
      same_epilogue) {
    return {};
  }
  return Status::error(Code::internal,
                       "a product of %" PRId64 " x %" PRId64 " x %" PRId64 "%s was declared as at most %" PRId64
                       " x %" PRId64 " x %" PRId64 ": report this as a bug",
                       arguments.m, arguments.n, arguments.k, same_epilogue ? "" : " with another epilogue",
                       shape.max_m, shape.n, shape.k);
}

}  // namespace linformer
