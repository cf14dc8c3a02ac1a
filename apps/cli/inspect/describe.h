// What a model is and what a session of it needs, for people (text) and programs (JSON).
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Columns of a terminal that a name or another text of the model may take.
inline constexpr int text_width = 90;

// Aligned lines "name  value". `planned`: of a session as the user asks for it; null where none can be had.
std::string describe_text(const Model& model, const std::string& path, const Plan* planned);
nlohmann::ordered_json describe_json(const Model& model, const std::string& path, const Plan* planned);

std::string tensors_text(const Model& model);
nlohmann::ordered_json tensors_json(const Model& model);

// The types that a plan computes in, in short. Plan::precision gives the reason.
std::string compute_text(const Plan& plan);
std::string plan_text(const Plan& plan);
nlohmann::ordered_json plan_json(const Plan& plan);

// list_program()'s lines. Throws DataError where it fails.
std::vector<ProgramLine> program_lines(const Model& model, const SessionOptions& options, int64_t tokens);
// Layers that are alike are shown once.
std::string program_text(std::span<const ProgramLine> lines, int64_t tokens);
nlohmann::ordered_json program_json(std::span<const ProgramLine> lines, int64_t tokens);

}  // namespace linformer::cli
