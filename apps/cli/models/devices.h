// Backends, instruction sets and devices as the options --backend, --isa and --device name them.
#pragma once

#include <string>

#include "linformer/session.h"

namespace linformer::cli {

BackendKind parse_backend(const std::string& name);
Isa parse_isa(const std::string& name);
// "cpu" is -1, "cuda" is 0, "cuda:N" is N: SessionOptions::device. Throws UsageError.
int parse_device(const std::string& name);
std::string device_name(int device);

}  // namespace linformer::cli
