// The names of fairseq's tensors in all versions of its code.
#pragma once

#include <span>
#include <string>

#include "converter/dialects/layer_parts.h"

namespace linformer::convert::fairseq {

inline const std::string encoder = "encoder.sentence_encoder.";
inline const std::string lm_head = "encoder.lm_head.";
inline const std::string heads = "classification_heads.";

// Returns the name that the tensor has in files of 2021-02-16 and later.
std::string canonical_name(std::string name);

// Returns patterns for tensors that fairseq saves and the model does not need, each with the reason. They apply only to
// tensors that the conversion has not used.
std::span<const NamePattern> unused_names();

// Returns the parts of a layer, whose names are below encoder.sentence_encoder.layers.N.
std::span<const LayerPart> layer_parts();

}  // namespace linformer::convert::fairseq
