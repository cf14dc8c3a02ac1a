// The names of options in errors and reports. Each caller has its own words for the fields of ConvertOptions, such as
// "--config" on a command line. So the converter's parts write placeholders, and the public functions replace each
// placeholder by the word that Control::option_name returns.
#pragma once

#include <string>
#include <string_view>

#include "linformer/convert.h"

namespace linformer::convert {

// Returns the placeholder of an option. If `value` isn't empty, the placeholder stands for the option together with
// that value.
std::string placeholder(Option option, std::string_view value = {});

// Returns the sentence with each placeholder replaced by the caller's word for the option.
std::string with_option_names(const std::string& sentence, const Control& control);
// Replaces the placeholders in all texts of a report.
void insert_option_names(const Control& control, Report* report);
void insert_option_names(const Control& control, ExportReport* report);

}  // namespace linformer::convert
