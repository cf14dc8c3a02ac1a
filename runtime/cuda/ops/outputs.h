#pragma once

#include "cuda/context.h"

namespace LINFORMER_NAMESPACE::cuda {

// Copies the logits that the item's stage computed to the caller's memory, then computes and copies their
// probabilities.
Status give(Context& context, const Item& item);

}  // namespace LINFORMER_NAMESPACE::cuda
