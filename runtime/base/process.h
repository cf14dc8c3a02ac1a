// The identity of the process.
#pragma once

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::platform {

// Returns the number of this process. A forked child, which has none of the threads that its parent started, has
// another number than the parent.
int64_t process_id();

}  // namespace LINFORMER_NAMESPACE::platform
