#pragma once

#include "cuda/context.h"

namespace LINFORMER_NAMESPACE::cuda {

// Copies the logits of the item's rows to the caller's memory. If the caller wants probabilities, computes and copies
// those too.
Status give(Context& context, const Item& item);

}  // namespace LINFORMER_NAMESPACE::cuda
