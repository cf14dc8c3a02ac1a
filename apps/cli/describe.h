// What a model is and what a session of it needs, for people (text) and programs (JSON).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Aligned lines "name  value".
std::string describe_text(const Model& model, const std::string& path);
nlohmann::ordered_json describe_json(const Model& model, const std::string& path);

std::string tensors_text(const Model& model);
nlohmann::ordered_json tensors_json(const Model& model);

std::string plan_text(const Plan& plan);
nlohmann::ordered_json plan_json(const Plan& plan);

}  // namespace linformer::cli
