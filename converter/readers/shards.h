// A checkpoint in several files, with an index that says which tensor lies in which: model.safetensors.index.json and
// pytorch_model.bin.index.json of Hugging Face's save_pretrained, {"weight_map": {TENSOR: FILE}}.
#pragma once

#include <string>

#include "converter/readers/checkpoint.h"

namespace linformer::convert {

// Whether the file is a JSON object and no safetensors file. False where it can't be read.
bool is_shard_index(const std::string& path);

// All tensors that the index names. Its files lie beside it, each has exactly the tensors that the index puts into it,
// and no tensor is in two. Throws Error that names the index, and the shard or tensor that is wrong.
Checkpoint open_shards(const std::string& path, const Control& control);

// Throws Error where the file is one of several by its name ("model-00001-of-00003.safetensors"): it names the index.
void refuse_single_shard(const std::string& path);

}  // namespace linformer::convert
