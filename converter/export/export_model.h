// The way back in memory: from a model file's bytes to those of a checkpoint. linformer/convert.h has it for files.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "linformer/convert.h"

namespace linformer::convert {

// The bytes of the safetensors file go to `sink` in order. `file` is 64-byte aligned. Everything in it is validated,
// but partly while bytes flow: after an Error what the sink got is worthless. Equal files give equal bytes.
// Memory: one tensor at a time.
ExportReport export_model(std::span<const std::byte> file, const std::function<void(std::span<const std::byte>)>& sink,
                          const std::function<void(double done)>& progress = {});

}  // namespace linformer::convert
