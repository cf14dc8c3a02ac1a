// Prints a report on one screen: at most 15 lines of at most 80 columns. print_report.h prints the whole report.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "input_files/model_uses.h"
#include "linformer/convert.h"

namespace linformer::convert {

// Print a summary. `uses` are the commands that can run the model.
void print_summary(const Report& report, const std::vector<files::ModelUse>& uses, std::ostream& out);
void print_summary(const ExportReport& report, std::ostream& out);

// Returns a number of bytes in KiB or MiB, such as "3.4 MiB".
std::string readable_bytes(uint64_t bytes);
// Returns a number with two significant digits, such as "0.0072" or "1.3e-05".
std::string two_significant_digits(double number);

}  // namespace linformer::convert
