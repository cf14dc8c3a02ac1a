#pragma once

#include "cuda/context.h"

namespace LINFORMER_NAMESPACE::cuda {

// Gives the caller the rows of scores that the item's stage made, and their probabilities.
Status give(Context& context, const Item& item);

}  // namespace LINFORMER_NAMESPACE::cuda
