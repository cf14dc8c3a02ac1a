// Which process this is.
#pragma once

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::platform {

// Another number in a process that was forked, which has none of the threads that its parent started.
int64_t process_id();

}  // namespace LINFORMER_NAMESPACE::platform
