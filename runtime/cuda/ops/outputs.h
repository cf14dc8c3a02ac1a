#pragma once

#include "cuda/context.h"

namespace LINFORMER_NAMESPACE::cuda {

// Copies the logits of the item's rows to the caller's memory. It also computes and copies probabilities if the caller
// asked for them.
Status copy_logits_to_caller(Context& context, const Item& item);

}  // namespace LINFORMER_NAMESPACE::cuda
