#pragma once

#include "cuda/context.h"

namespace LINFORMER_NAMESPACE::cuda {

// Computes a norm. If `convert` is not null, the same launch also computes this conversion of the norm's result.
Status norm(const ops::Norm& op, const ops::Convert* convert, Context& context, const Item& item);

}  // namespace LINFORMER_NAMESPACE::cuda
