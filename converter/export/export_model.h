// Turns the bytes of a model file back into those of a checkpoint, in memory. linformer/convert.h declares the function
// for files.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "linformer/convert.h"

namespace linformer::convert {

// Passes the bytes of the safetensors file to `sink` in order. `file` must be 64-byte aligned. Everything in it is
// validated, but in part only after the first bytes were passed on: after an Error the caller must discard them. Equal
// files give equal bytes. One tensor at a time is held in memory.
ExportReport export_model(std::span<const std::byte> file, const std::function<void(std::span<const std::byte>)>& sink,
                          const std::function<void(double done)>& progress = {});

}  // namespace linformer::convert
