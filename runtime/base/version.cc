#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

Version library_version() { return header_version; }

}  // namespace LINFORMER_NAMESPACE
