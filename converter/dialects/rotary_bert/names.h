// The names of NomicBERT's and GTE's tensors and settings: transformers' names stand for all of them.
#pragma once

#include <span>
#include <string>

#include "converter/dialects/tensor_table.h"

namespace linformer::convert::rotary_bert {

// In the names of transformers' ports, without the encoder's prefix.
std::string canonical_name(std::string name);

// Tensors that are no part of what is computed, each with the reason.
std::span<const NamePattern> unused_names();

}  // namespace linformer::convert::rotary_bert
