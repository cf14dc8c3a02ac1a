// Describes in words and in JSON how the layers of an encoder compress keys and values along the sequence.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "inspect/encoder_parts.h"

namespace linformer::cli {

// Returns the kinds and the k (number of compressed rows) of the projections. If layers differ, describes ranges of
// layers.
std::string projection_text(const EncoderParts& encoder);
// Returns the number of different projections, and whether heads, keys and values, or layers share them. Returns "" if
// there are no projections.
std::string sharing_text(const EncoderParts& encoder);
// Returns an array with an object for each projection. It is empty if there are none.
nlohmann::ordered_json projections_json(const EncoderParts& encoder);
// Returns null if there are no projections.
nlohmann::ordered_json sharing_json(const EncoderParts& encoder);

}  // namespace linformer::cli
