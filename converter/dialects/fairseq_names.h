// The names of fairseq's tensors in all of its eras.
#pragma once

#include <span>
#include <string>

#include "converter/dialects/tensor_table.h"
#include "linformer/description.h"

namespace linformer::convert::fairseq {

inline const std::string encoder = "encoder.sentence_encoder.";
inline const std::string lm_head = "encoder.lm_head.";
inline const std::string heads = "classification_heads.";

// To the names of 2021-02-16 and later.
std::string canonical_name(std::string name);

// Tensors that fairseq stores and never uses, where no role asked for them.
std::span<const NamePattern> unused_names();

struct LinearName {
  const char* suffix;                       // below encoder.sentence_encoder.layers.N.
  Linear AttentionDescription::*attention;  // one of the two is set
  Linear LayerDescription::*layer;
  const char* role;
};
std::span<const LinearName> linear_names();

struct NormName {
  const char* suffix;
  Norm LayerDescription::*norm;
  const char* role;
};
std::span<const NormName> norm_names();

}  // namespace linformer::convert::fairseq
