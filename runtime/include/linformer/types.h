// Small enums and limits of the public headers.
#pragma once

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

enum class ElementType : uint8_t { f32 = 0, bf16 = 1, f16 = 2, int8 = 3 /* with scales */ };

enum class Isa : uint8_t { automatic = 0, scalar, avx2, avx512, neon };
enum class BackendKind : uint8_t { native = 0, onednn, openblas };

enum class Pooling : uint8_t {
  first_token = 0,
  mean,
  mean_over_max_tokens,
  max,
  none,          // outputs for each token
  last_token,    // that isn't masked
  weighted_mean  // row i counts i + 1 times as much as row 0
};

// What a head's outputs are, and so what its probabilities hold (Output::probabilities).
enum class HeadKind : uint8_t {
  single_label = 0,  // one of at least two classes: softmax
  multi_label,       // any number of the classes: sigmoid of each
  score,             // one output, through the activation that the model names
  regression         // any number of outputs: the raw values, which are the logits
};

enum class TokenizerKind : uint8_t { none = 0, byte_bpe, wordpiece, unigram, bpe };  // bpe: of characters

// Which encoder of the model. An encoder-decoder takes two sessions: the first one's `hidden` is the second one's
// encoder states.
enum class Part : uint8_t { encoder = 0, decoder };

// The most that a model file may hold, and so the largest number of tokens, of classes, ... that any model takes.
inline constexpr uint32_t max_dimension = 1u << 24;  // widths, tokens, k, vocabulary
inline constexpr uint32_t max_classes = 1u << 20;    // of a head

// The names that files and programs give them.
const char* name_of(ElementType);
const char* name_of(Pooling);
const char* name_of(HeadKind);
const char* name_of(TokenizerKind);
const char* name_of(Isa);
const char* name_of(BackendKind);

}  // namespace LINFORMER_NAMESPACE
