// What the fields of ConvertOptions are called in sentences. Each caller has words of its own for them, so a sentence
// holds a mark in their place until it leaves the converter, where Control::option_name says the word.
#pragma once

#include <string>
#include <string_view>

#include "linformer/convert.h"

namespace linformer::convert {

// The mark of an option, and of one with the value that it is to have.
std::string mark(Option option, std::string_view value = {});

// The sentence with a word in the place of each mark.
std::string with_names(const std::string& sentence, const Control& control);
// The same for all that a report says.
void name_options(const Control& control, Report* report);
void name_options(const Control& control, ExportReport* report);

}  // namespace linformer::convert
