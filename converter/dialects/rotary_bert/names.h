// The names of NomicBERT's and GTE's tensors. The canonical names are those that transformers' ports have.
#pragma once

#include <span>
#include <string>

#include "converter/dialects/tensor_table.h"

namespace linformer::convert::rotary_bert {

// Returns the name that the tensor has in transformers' ports, without the encoder's prefix.
std::string canonical_name(std::string name);

// Returns patterns for the tensors that the model's answers do not depend on, each with the reason.
std::span<const NamePattern> unused_names();

}  // namespace linformer::convert::rotary_bert
