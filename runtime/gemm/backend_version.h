// The version of the library that a backend uses.
#pragma once

#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns the version of the library that the backend calls, which is opened as a session opens it. For native, returns
// the version of linformer. Returns unsupported if the build lacks the backend, and the error of opening the library
// if that fails.
Result<Version> opened_backend_version(BackendKind kind);

}  // namespace LINFORMER_NAMESPACE
