// A report on one screen: at most fifteen lines of at most eighty columns. print_report.h has the whole.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "input_files/model_uses.h"
#include "linformer/convert.h"

namespace linformer::convert {

// `uses`: what the model file is for.
void print_summary(const Report& report, const std::vector<files::ModelUse>& uses, std::ostream& out);
void print_summary(const ExportReport& report, std::ostream& out);

// "3.4 MiB"
std::string readable_bytes(uint64_t bytes);
// Two digits: 0.0072 or 1.3e-05.
std::string scientific(double number);

}  // namespace linformer::convert
