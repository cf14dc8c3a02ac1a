// Alters model files for the fuzzer, and repairs their headers and checksums after any alteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "converter/writer/model_builder.h"
#include "fuzz/random.h"

namespace linformer_fuzz {

// Returns the bytes in aligned memory. If they begin like a model file, their header, padding and checksums are made
// valid, so that Model::load() reads the rest. Other bytes are copied unchanged.
linformer::writer::AlignedBytes repair_model_file(std::span<const uint8_t> bytes);

// Alters a model file: a few numbers in its metadata, its bytes, its weights, or a list of the description. Returns an
// empty string if the result would be longer than `most` bytes.
std::string altered_model(std::span<const uint8_t> bytes, size_t most, Random& random);

// Returns the first model with a part of the second model's description. If one of the two doesn't load, returns the
// first one's metadata with the second one's tensors. Empty if one of the two doesn't begin like a model file.
std::string crossed_models(std::span<const uint8_t> first, std::span<const uint8_t> second, Random& random);

}  // namespace linformer_fuzz
