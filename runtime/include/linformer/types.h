// Small enums and limits that the public headers use.
#pragma once

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

enum class ElementType : uint8_t { f32 = 0, bf16 = 1, f16 = 2, int8 = 3 /* with a scale for each row */ };

// The instruction set of the CPU's kernels. automatic: the set that LINFORMER_ISA in the environment names, or else the
// best set that the machine and the build have.
enum class Isa : uint8_t { automatic = 0, scalar, avx2, avx512, neon };
enum class BackendKind : uint8_t { native = 0, onednn, openblas };

// How the rows of a sequence become one row.
enum class Pooling : uint8_t {
  first_token = 0,
  mean,
  mean_over_max_tokens,
  max,
  none,          // No pooling: there is an output for each token.
  last_token,    // The last token that isn't masked.
  weighted_mean  // The weight of row i is i + 1 times the weight of row 0.
};

// What the outputs of a head are, which decides what Output::probabilities() makes of them.
enum class HeadKind : uint8_t {
  single_label = 0,  // Exactly one of at least two classes: the probabilities are the softmax.
  multi_label,       // Any number of the classes: the probabilities are the sigmoid of each logit.
  score,             // One output, to which the activation that the model names is applied.
  regression         // Any number of outputs: the probabilities are the logits themselves.
};

// bpe is byte-pair encoding of characters, byte_bpe of bytes.
enum class TokenizerKind : uint8_t { none = 0, byte_bpe, wordpiece, unigram, bpe };

// Which encoder of the model a session runs. An encoder-decoder takes two sessions: the `hidden` output of the
// encoder's session is the encoder states of the decoder's session.
enum class Part : uint8_t { encoder = 0, decoder };

// The largest values that a model file may hold. No model takes more tokens or has more classes.
inline constexpr uint32_t max_dimension = 1u << 24;  // The limit of widths, tokens, k and the vocabulary.
inline constexpr uint32_t max_classes = 1u << 20;    // The limit for one head.

// Return the names that files and programs use for the values.
const char* name_of(ElementType);
const char* name_of(Pooling);
const char* name_of(HeadKind);
const char* name_of(TokenizerKind);
const char* name_of(Isa);
const char* name_of(BackendKind);

}  // namespace LINFORMER_NAMESPACE
