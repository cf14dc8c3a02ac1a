// The names of options in errors and reports. Each caller has its own words for the fields of ConvertOptions, such as
// "--config" on a command line. So the converter's parts write a placeholder, here called a mark, and the public
// functions replace each mark by the word that Control::option_name returns.
#pragma once

#include <string>
#include <string_view>

#include "linformer/convert.h"

namespace linformer::convert {

// Returns the mark of an option. If `value` isn't empty, the mark stands for the option together with that value.
std::string mark(Option option, std::string_view value = {});

// Returns the sentence with each mark replaced by the caller's word for the option.
std::string with_names(const std::string& sentence, const Control& control);
// Replaces the marks in all texts of a report.
void name_options(const Control& control, Report* report);
void name_options(const Control& control, ExportReport* report);

}  // namespace linformer::convert
