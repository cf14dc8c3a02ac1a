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
};

}  // namespace linformer
