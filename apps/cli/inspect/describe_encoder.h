// What an encoder (or a decoder) is made of, in words and in JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/description.h"
#include "linformer/model.h"

namespace linformer::cli {

using DescriptionLine = std::pair<std::string, std::string>;  // name, value

// `encoder` is one of `description`'s two.
std::vector<DescriptionLine> encoder_lines(const ModelDescription& description, const EncoderDescription& encoder);
// Adds to `json`, which may already have other keys.
void add_encoder_json(const ModelDescription& description, const EncoderDescription& encoder,
                      nlohmann::ordered_json* json);

// Rows and columns of a linear's weight.
uint64_t outputs_of(const ModelDescription& description, const Linear& linear);

}  // namespace linformer::cli
