// The names of fairseq's tensors in all of its eras.
#pragma once

#include <span>
#include <string>

#include "converter/dialects/layer_parts.h"

namespace linformer::convert::fairseq {

inline const std::string encoder = "encoder.sentence_encoder.";
inline const std::string lm_head = "encoder.lm_head.";
inline const std::string heads = "classification_heads.";

// To the names of 2021-02-16 and later.
std::string canonical_name(std::string name);

// Tensors that fairseq stores and never uses, where no role asked for them.
std::span<const NamePattern> unused_names();

// Below encoder.sentence_encoder.layers.N.
std::span<const LayerPart> layer_parts();

}  // namespace linformer::convert::fairseq
