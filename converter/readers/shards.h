// Opens checkpoints in several files (shards). An index file says which shard holds which tensor. Hugging Face's
// save_pretrained writes such indexes as model.safetensors.index.json and pytorch_model.bin.index.json, with the
// content {"weight_map": {TENSOR: FILE}}.
#pragma once

#include <string>

#include "converter/readers/checkpoint.h"

namespace linformer::convert {

// Returns whether the file begins as a JSON object and is not a safetensors file. Returns false if it can't be read.
bool is_shard_index(const std::string& path);

// Opens all shards of an index. The shards must lie in the index's folder. Throws Error, which names the index and the
// shard or tensor at fault, unless each shard has exactly the tensors that the index names for it and no tensor is in
// two shards. The index need not name aliases (Tensor::alias_of).
Checkpoint open_shards(const std::string& path, const Control& control);

// Throws Error, which names the index, if the file's name says that it is one of several shards, as in
// "model-00001-of-00003.safetensors".
void refuse_single_shard(const std::string& path);

}  // namespace linformer::convert
