// The middle step of a conversion: it turns an open checkpoint into a filled ModelBuilder. linformer/convert.h declares
// the whole conversion.
#pragma once

#include <functional>
#include <string>

#include "converter/dialects/settings.h"
#include "converter/readers/checkpoint.h"
#include "converter/writer/model_builder.h"
#include "linformer/convert.h"

namespace linformer::convert {

// Recognises the dialect and fills the builder with the encoder and the heads. The caller adds labels and a tokenizer.
// Calls `progress`, unless it is empty, with the share of the tensors' elements that were read, 0 to 1. If `dialect` is
// not empty, only that dialect is tried. The checkpoint must outlive the builder. Throws Error if no dialect fits or if
// the checkpoint can't be converted.
void build_model(Checkpoint& checkpoint, const Settings& settings, writer::ModelBuilder* builder, Report* report,
                 const std::function<void(double done)>& progress, const std::string& dialect = "");

}  // namespace linformer::convert
