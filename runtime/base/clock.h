// A clock for profiles.
#pragma once

#include "base/platform.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

using platform::seconds_now;

}  // namespace LINFORMER_NAMESPACE
