// The names of the values of every enum that a model file stores. Range checks, errors, JSON and the output of programs
// use them.
#pragma once

#include <iterator>

#include "base/description.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The names of an enum's values, in the order of the values, which start at 0 and have no gaps (tests/format compares
// the names with the enums and the schema).
template <class Enum>
struct EnumNames;

#define LINFORMER_ENUM_NAMES(type, ...)                 \
  template <>                                           \
  struct EnumNames<type> {                              \
    static constexpr const char* type_name = #type;     \
    static constexpr const char* all[] = {__VA_ARGS__}; \
  }

LINFORMER_ENUM_NAMES(ElementType, "f32", "bf16", "f16", "int8");
LINFORMER_ENUM_NAMES(TensorLayout, "row_major", "panel16", "padded_rows");
LINFORMER_ENUM_NAMES(Activation, "none", "relu", "gelu", "gelu_tanh", "tanh", "leaky_relu", "sigmoid", "silu");
LINFORMER_ENUM_NAMES(ProjectionKind, "linear", "convolution", "mean_pool", "max_pool", "none");
LINFORMER_ENUM_NAMES(ProjectionOrder, "before_linear", "after_linear");
LINFORMER_ENUM_NAMES(LengthScale, "none", "inverse_root", "restored_norm");
LINFORMER_ENUM_NAMES(NormKind, "layer", "rms");
LINFORMER_ENUM_NAMES(RowMask, "none", "zeroed", "excluded");
LINFORMER_ENUM_NAMES(KeySource, "own", "encoder_states", "encoder_states_or_own");
LINFORMER_ENUM_NAMES(NormPlacement, "post", "pre");
LINFORMER_ENUM_NAMES(ResidualKind, "standard", "reversible", "none");
LINFORMER_ENUM_NAMES(Pairing, "none", "product_difference");
LINFORMER_ENUM_NAMES(HeadKind, "single_label", "multi_label", "score", "regression");
LINFORMER_ENUM_NAMES(PositionKind, "none", "learned", "sinusoidal_halves", "sinusoidal_interleaved");
LINFORMER_ENUM_NAMES(Pooling, "first_token", "mean", "mean_over_max_tokens", "max", "none", "last_token",
                     "weighted_mean");
LINFORMER_ENUM_NAMES(TokenizerKind, "none", "byte_bpe", "wordpiece", "unigram", "bpe");
LINFORMER_ENUM_NAMES(NormalizerKind, "charsmap", "nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents",
                     "strip_left", "strip_right", "nmt", "replace", "replace_spaces", "prepend");
LINFORMER_ENUM_NAMES(SplitKind, "gpt2", "cl100k", "qwen2", "qwen3_5", "o200k", "tekken", "digits", "punctuation",
                     "white_space", "text");
LINFORMER_ENUM_NAMES(SplitBehavior, "isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous");
LINFORMER_ENUM_NAMES(PrefixMark, "never", "first", "always");
LINFORMER_ENUM_NAMES(FirstSpace, "as_added", "kept", "trimmed");

#undef LINFORMER_ENUM_NAMES

template <class Enum>
inline constexpr unsigned enum_count = static_cast<unsigned>(std::size(EnumNames<Enum>::all));

template <class Enum>
constexpr const char* enum_name(Enum value) {
  const auto index = static_cast<unsigned>(value);
  return index < enum_count<Enum> ? EnumNames<Enum>::all[index] : "unknown";
}

}  // namespace LINFORMER_NAMESPACE
