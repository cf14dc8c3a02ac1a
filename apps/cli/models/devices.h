// Turns the arguments of --backend, --isa and --device into the values of SessionOptions.
#pragma once

#include <string>

#include "linformer/session.h"

namespace linformer::cli {

BackendKind parse_backend(const std::string& name);
Isa parse_isa(const std::string& name);
// Returns the value of CudaOptions::device for a device's name: -1 for "cpu", 0 for "cuda", and N for "cuda:N".
// Throws UsageError for any other name.
int parse_device_number(const std::string& name);
std::string device_name(int device);

}  // namespace linformer::cli
