// Which version of a backend's library runs.
#pragma once

#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Of the library that `kind` calls, opened as a session opens it; of this library for native. unsupported where the
// build has no such backend, or this machine no such library.
Result<Version> opened_backend_version(BackendKind kind);

}  // namespace LINFORMER_NAMESPACE
