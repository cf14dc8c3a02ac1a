// Validates a description: checks every reference, range and shape before anything computes with it. Model::load and
// the converter's writer both call validate(), so that the converter writes no file that can't be loaded.
#pragma once

#include <cstdint>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "model/fields.h"

namespace LINFORMER_NAMESPACE {

// Validates `model`, whose tensor segment has `segment_bytes` bytes. Returns corrupt_file with the field, its value and
// the expected value. A feature that this version can't execute is no error here: plan() refuses it. Takes O(tensors
// log tensors + layers * heads + tokenizer) time.
Status validate(const ModelDescription& model, uint64_t segment_bytes);

// The parts of validate(), in the order in which they must be called.
Status validate_tensors(const ModelDescription& model, uint64_t segment_bytes);
Status validate_encoder(const EncoderDescription& encoder, const TensorFields& tensors);
// Validates the classification heads, the masked-LM head and the sentence embedding.
Status validate_heads(const ModelDescription& model);
// `token_types` is the number of rows of the token type table, or 2 if the model has no table and ignores types.
Status validate_tokenizer(const TokenizerDescription& tokenizer, uint32_t vocab_size, uint64_t token_types);

// The parts of validate_encoder().
// Returns an error that names the field, unless `value` is 1 to `largest`.
Status check_range(const char* field, uint32_t value, uint32_t largest);
Status validate_embedding(const EncoderDescription& encoder, const TensorFields& tensors);
// Returns the width of the encoder's output rows, which mlm and heads read.
uint64_t output_width(const EncoderDescription& encoder, const TensorFields& tensors);
Status validate_projections(const EncoderDescription& encoder, const TensorFields& tensors);
// *width is the width of the residual stream before the layer's attention, and is set to its width after it.
Status validate_attention(const EncoderDescription& encoder, const TensorFields& tensors, size_t layer,
                          uint64_t* width);

}  // namespace LINFORMER_NAMESPACE
