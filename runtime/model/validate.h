// Whether a description can be what it says: every reference, range and shape, before anything computes with it.
// Both Model::load and the converter's writer call this, so that no file is written that would not load.
#pragma once

#include <cstdint>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "model/fields.h"

namespace LINFORMER_NAMESPACE {

// `segment_bytes`: the size of the tensor segment. corrupt_file names the field, its value and what was expected.
// Features that this version's plan can't execute are not errors here. O(tensors log tensors + layers * heads +
// tokenizer).
Status validate(const ModelDescription& model, uint64_t segment_bytes);

// Its parts, in the order in which they may be called.
Status validate_tensors(const ModelDescription& model, uint64_t segment_bytes);
Status validate_encoder(const EncoderDescription& encoder, const TensorFields& tensors);
Status validate_heads(const ModelDescription& model);
// `token_types`: rows of the token type table; 2 where the model has none and ignores them.
Status validate_tokenizer(const TokenizerDescription& tokenizer, uint32_t vocab_size, uint64_t token_types);

// Parts of the encoder.
// An error that names the field, unless `value` is 1 to `largest`.
Status check_range(const char* field, uint32_t value, uint32_t largest);
Status validate_embedding(const EncoderDescription& encoder, const TensorFields& tensors);
// Width of the encoder's output rows, which mlm and heads read.
uint64_t output_width(const EncoderDescription& encoder, const TensorFields& tensors);
Status validate_projections(const EncoderDescription& encoder, const TensorFields& tensors);
// `width`: the residual stream's, before and after the layer's attention.
Status validate_attention(const EncoderDescription& encoder, const TensorFields& tensors, size_t layer,
                          uint64_t* width);

}  // namespace LINFORMER_NAMESPACE
