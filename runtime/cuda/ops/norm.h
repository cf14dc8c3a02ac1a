#pragma once

#include "cuda/context.h"

namespace LINFORMER_NAMESPACE::cuda {

// A norm, and in the same pass over the rows what `convert` makes of its result; null: nothing.
Status norm(const ops::Norm& op, const ops::Convert* convert, Context& context, const Item& item);

}  // namespace LINFORMER_NAMESPACE::cuda
