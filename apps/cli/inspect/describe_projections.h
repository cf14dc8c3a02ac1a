// How an encoder's layers compress their positions, in words and in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/description.h"

namespace linformer::cli {

bool is_full(const EncoderDescription& encoder, const LayerDescription& layer);
// Kinds and k; layers that differ are named by ranges.
std::string projection_text(const EncoderDescription& encoder);
// How many projections there are and what has them in common; "" without any.
std::string sharing_text(const EncoderDescription& encoder);
nlohmann::ordered_json projections_json(const EncoderDescription& encoder);
nlohmann::ordered_json sharing_json(const EncoderDescription& encoder);  // null without any

}  // namespace linformer::cli
