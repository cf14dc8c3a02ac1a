// Model files for the fuzzer: made whole again after any alteration, and altered where it matters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "converter/writer/model_builder.h"
#include "fuzz/random.h"

namespace linformer_fuzz {

// The bytes in aligned memory. What begins like a model file gets the header, the padding and the checksums of
// one, so that loading looks at everything else. Anything else stays as it is.
linformer::writer::AlignedBytes repaired(std::span<const uint8_t> bytes);

// One alteration of a model file: a number of its metadata, its bytes, a weight, or the description as a whole.
// Empty where it would be longer than `most`.
std::string altered_model(std::span<const uint8_t> bytes, size_t most, Random& random);

// The first model with a part of the second one's description. Empty where one of them isn't a model file.
std::string crossed_models(std::span<const uint8_t> first, std::span<const uint8_t> second, Random& random);

}  // namespace linformer_fuzz
