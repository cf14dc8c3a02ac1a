// How an encoder's layers compress their positions, in words and in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "inspect/encoder_parts.h"

namespace linformer::cli {

// Kinds and k; layers that differ are named by ranges.
std::string projection_text(const EncoderParts& encoder);
// How many projections there are and what has them in common; "" without any.
std::string sharing_text(const EncoderParts& encoder);
nlohmann::ordered_json projections_json(const EncoderParts& encoder);
nlohmann::ordered_json sharing_json(const EncoderParts& encoder);  // null without any

}  // namespace linformer::cli
