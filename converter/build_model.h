// The middle step of a conversion, which turns an open checkpoint into a filled ModelBuilder. linformer/convert.h has
// the whole conversion.
#pragma once

#include <functional>
#include <string>

#include "converter/dialects/settings.h"
#include "converter/readers/checkpoint.h"
#include "converter/writer/model_builder.h"
#include "linformer/convert.h"

namespace linformer::convert {

// Recognises the dialect and fills the builder with encoder and heads; labels and tokenizer are left to the caller.
// `read` is told the share of the tensors done, 0 to 1; it may be empty. The checkpoint must outlive the builder.
// `dialect`: the only one to try; empty: the one that fits.
void build_model(Checkpoint& checkpoint, const Settings& settings, writer::ModelBuilder* builder, Report* report,
                 const std::function<void(double done)>& read, const std::string& dialect = "");

}  // namespace linformer::convert
