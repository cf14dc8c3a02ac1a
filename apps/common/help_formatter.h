// The --help of the programs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace linformer {

// Options as "--batch N=16": what a validator would say about its range is said when it fails.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    std::string text = type.substr(0, type.find(':'));
    if (!text.empty()) text.insert(0, " ");
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    return text;
  }
  // In lines of at most 100 columns with what is before it; lines break between words.
  std::string make_option_desc(const CLI::Option* option) const override {
    const size_t room = 100 - get_column_width();
    std::string text = option->get_description();
    for (size_t begin = 0; text.size() - begin > room;) {
      const size_t space = text.rfind(' ', begin + room);
      if (space == std::string::npos || space < begin) break;
      text[space] = '\n';
      begin = space + 1;
    }
    return text;
  }
};

}  // namespace linformer
