#include "help/command_table.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "help/formats.h"

namespace linformer::help {
namespace {

// A formatter for CLI11 that holds a command's texts and writes its help from the same table as all other formats.
class Formatter : public CLI::FormatterBase {
 public:
  explicit Formatter(std::function<Texts()> texts) : texts_(std::move(texts)) {}

  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const override {
    const std::string parent = app->get_parent() == nullptr ? "" : app->get_parent()->get_name() + " ";
    const Command command = command_of(*app, parent + app->get_name());
    return mode == CLI::AppFormatMode::All ? full_help(command) : short_help(command);
  }
  Texts texts() const { return texts_(); }

 private:
  std::function<Texts()> texts_;
};

// Sets the value's name and its choices from the type name of CLI11. CLI11 writes choices as "TYPE:{a,b}". Other checks
// follow the name too, as in "N:INT in [1 - 9]", and are not shown.
void read_type(const std::string& type, Option* option) {
  const size_t colon = type.find(':');
  option->value = type.substr(0, colon);
  if (colon == std::string::npos || type.compare(colon + 1, 1, "{") != 0 || type.back() != '}') return;
  std::string choice;
  for (size_t i = colon + 2; i < type.size(); ++i) {
    if (type[i] != ',' && type[i] != '}') {
      choice += type[i];
      continue;
    }
    option->choices.push_back(choice);
    choice.clear();
  }
}

Option option_of(const CLI::Option& given) {
  Option option;
  for (const std::string& name : given.get_snames()) option.names.push_back("-" + name);
  for (const std::string& name : given.get_lnames()) option.names.push_back("--" + name);
  option.text = given.get_description();
  option.group = given.get_group();
  option.default_value = given.get_default_str();
  option.required = given.get_required();
  option.repeated = given.get_expected_max() > 1;
  if (option.names.empty()) {
    option.names.push_back(given.get_name(true));
  } else {
    read_type(given.get_type_name(), &option);
  }
  return option;
}

std::string formatted(const CLI::App& app, const std::string& format) {
  const CLI::App* const program = app.get_parent() == nullptr ? &app : app.get_parent();
  if (format == "man") {
    const std::string parent = program == &app ? "" : program->get_name() + " ";
    return man_page(command_of(app, parent + app.get_name()), program->version());
  }
  const Command all = command_of(*program, program->get_name());
  return format == "bash" ? bash_completion(all) : format == "zsh" ? zsh_completion(all) : fish_completion(all);
}

}  // namespace

void set_help(CLI::App* app, std::function<Texts()> texts) {
  constexpr const char* group = "Help";
  app->formatter(std::make_shared<Formatter>(std::move(texts)));
  app->set_help_flag("-h,--help", "The most used options and two examples")->group(group);
  app->set_help_all_flag("--help-all", "All options, notes and examples")->group(group);
  if (CLI::Option* const version = app->get_version_ptr(); version != nullptr)
    version->description("The version")->group(group);
  const auto print = [app](const std::string& format) { throw FormattedHelp{formatted(*app, format)}; };
  app->add_option_function<std::string>("--help-format", print,
                                        "This help as a man page, or completions of all commands for bash, zsh or fish")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"man", "bash", "zsh", "fish"}))
      ->trigger_on_parse()
      ->group(group);
}

Command command_of(const CLI::App& app, const std::string& name) {
  Command command;
  command.name = name;
  command.text = app.get_description();
  if (const auto formatter = std::dynamic_pointer_cast<Formatter>(app.get_formatter())) {
    command.texts = formatter->texts();
  }
  for (const CLI::Option* given : app.get_options()) {
    if (given->get_group().empty()) continue;  // Options without a group are internal.
    Option option = option_of(*given);
    (given->get_positional() && !given->nonpositional() ? command.positionals : command.options)
        .push_back(std::move(option));
  }
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(command_of(*inner, name + " " + inner->get_name()));
  }
  return command;
}

}  // namespace linformer::help
