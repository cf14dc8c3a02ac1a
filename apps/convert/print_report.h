// A report with all its tables, and for programs (JSON). print_summary.h has the short one.
#pragma once

#include <ostream>
#include <vector>

#include "input_files/model_uses.h"
#include "linformer/convert.h"

namespace linformer::convert {

// `uses`: what the model file is for.
void print_table(const Report& report, const std::vector<files::ModelUse>& uses, std::ostream& out);
void print_json(const Report& report, const std::vector<files::ModelUse>& uses, std::ostream& out);
void print_table(const ExportReport& report, std::ostream& out);
void print_json(const ExportReport& report, std::ostream& out);
// All dialects with what they need to be told.
void print_dialects(std::ostream& out);
void print_dialects_json(std::ostream& out);
// All model families with their heads and what was tested.
void print_models(std::ostream& out);
void print_models_json(std::ostream& out);
// {"error": "..."}
void print_json_error(const char* sentence, std::ostream& out);

}  // namespace linformer::convert
