// Describes a model and the memory and operations of a session of it, as text for people and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Names and other texts of the model are cut to this width.
inline constexpr int text_width = 90;

// Return the description of a model: as text in aligned lines "name  value", or as JSON. `planned` is the plan of a
// session with the user's options, or null if no session can be created.
std::string describe_text(const Model& model, const std::string& path, const Plan* planned);
nlohmann::ordered_json describe_json(const Model& model, const std::string& path, const Plan* planned);

std::string tensors_text(const Model& model);
nlohmann::ordered_json tensors_json(const Model& model);

// Returns the types in which a plan computes, such as "bf16 (attention in f32)". Plan::precision gives the reason.
std::string compute_text(const Plan& plan);
std::string plan_text(const Plan& plan);
nlohmann::ordered_json plan_json(const Plan& plan);

// Returns the lines that list_program() gives, one for each op. Throws DataError if list_program() fails.
std::vector<ProgramLine> program_lines(const Model& model, const SessionOptions& options, int64_t tokens);
// Returns the table of a program, which program_lines() returned. Layers with the same ops are shown once.
std::string program_text(std::span<const ProgramLine> lines, int64_t tokens);
nlohmann::ordered_json program_json(std::span<const ProgramLine> lines, int64_t tokens);

}  // namespace linformer::cli
