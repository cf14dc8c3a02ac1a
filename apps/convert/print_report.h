// Prints reports with all their tables, and as JSON for programs. print_summary.h prints the short form.
#pragma once

#include <ostream>
#include <vector>

#include "input_files/model_uses.h"
#include "linformer/convert.h"

namespace linformer::convert {

// Print a report. `uses` are the commands that can run the model.
void print_table(const Report& report, const std::vector<files::ModelUse>& uses, std::ostream& out);
void print_json(const Report& report, const std::vector<files::ModelUse>& uses, std::ostream& out);
void print_table(const ExportReport& report, std::ostream& out);
void print_json(const ExportReport& report, std::ostream& out);
// Print all dialects with the settings that they need.
void print_dialects(std::ostream& out);
void print_dialects_json(std::ostream& out);
// Print all model families with their heads and the references that they were tested with.
void print_models(std::ostream& out);
void print_models_json(std::ostream& out);
// Prints an error as JSON: {"error": "..."}.
void print_json_error(const char* sentence, std::ostream& out);

}  // namespace linformer::convert
