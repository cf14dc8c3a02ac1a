// Describes an encoder or a decoder in words and in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "inspect/encoder_parts.h"

namespace linformer::cli {

using DescriptionLine = std::pair<std::string, std::string>;  // A name and its value.

std::vector<DescriptionLine> encoder_lines(const EncoderParts& encoder);
// Adds the description to `json`, which may already have other keys.
void add_encoder_json(const EncoderParts& encoder, nlohmann::ordered_json* json);

}  // namespace linformer::cli
