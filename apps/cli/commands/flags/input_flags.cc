#include "commands/flags/input_flags.h"

#include <CLI/CLI.hpp>

#include "linformer/tokenizer.h"

namespace linformer::cli {
namespace {

std::string delimiter_error(const std::string& value) {
  if (value == "\\t") return {};
  if (value.size() == 1 && value[0] > '\0' && value[0] != '"' && value[0] != '\r' && value[0] != '\n') return {};
  return "give one ASCII character, such as ';', or \\t for a tab";
}

}  // namespace

void InputFlags::add_texts_to(CLI::App* command, const std::string& description) {
  dash = true;
  // If any number of arguments were expected, CLI11 would take a text in square brackets, such as "[MASK] and [MASK]",
  // for a list. CLI11 does not do that if the option requires a number of texts. Here it requires a number that is
  // never reached. That has no other effect, because take_all() turns off the check of the number.
  constexpr int any_number = CLI::detail::expected_max_vector_size;
  command->add_option("TEXT", texts, description + "; - reads standard input")
      ->type_name("")
      ->expected(any_number, any_number)
      ->allow_extra_args(false)
      ->take_all();
}

void InputFlags::add_files_to(CLI::App* command) {
  command
      ->add_option(
          "-i,--input", inputs,
          "Files of texts, any number of them; - is standard input. Arguments without an option must stand before -i")
      ->type_name("FILE...")
      ->group("Input");
  command
      ->add_flag("--whole-files", whole_files,
                 "Each file is one text, without the line end at the end of the file; its id is the file's name")
      ->group("Input");
  command
      ->add_option(
          "--format", format,
          "text (lines), jsonl (or one JSON array), csv, tsv or fasttext; default: the format that the file's ending "
          "names, where .gz is ignored; otherwise text, or fasttext if the first line begins with __label__")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"auto", "text", "jsonl", "csv", "tsv", "fasttext"}))
      ->group("Input");
  command->add_option("--field", field, "Name of the field with the text")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Input");
  command->add_flag("--no-header", no_header, "CSV and TSV: the fields are called 1, 2, ... and the first line is data")
      ->group("Input");
  command
      ->add_option("--delimiter", delimiter,
                   "CSV and TSV: the character between fields, \\t for a tab; if no format is named, it means csv")
      ->type_name("C")
      ->check([](const std::string& value) { return delimiter_error(value); })
      ->group("Input");
  command->add_option("--max-line-bytes", max_line_bytes, "Greatest size of a record; a longer record is an error")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{max_text_bytes}))
      ->capture_default_str()
      ->group("Input");
}

void InputFlags::add_keep_to(CLI::App* command) {
  command
      ->add_option("--keep", keep,
                   "Fields of the input to repeat before the answer: names separated by commas, or all; if one has the "
                   "name of a field of the answer, the latter becomes linformer_NAME")
      ->type_name("FIELDS")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group("Answers");
}

void InputFlags::add_records_to(CLI::App* command) {
  add_files_to(command);
  command->add_option("--limit", limit, "Read the first N records only")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{INT64_MAX}))
      ->group("Input");
  command->add_option("--id", id, "Name of the field that identifies a record; default: its number, from 1")
      ->type_name("NAME")
      ->group("Input");
}

void InputFlags::add_to(CLI::App* command) {
  add_records_to(command);
  command->add_option("--pair", pair, "Name of the field with the second text of a pair")
      ->type_name("NAME")
      ->group("Input");
  command->add_option("--pair-text", pair_texts, "The second text of a text on the command line, one for each")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->group("Input");
}

}  // namespace linformer::cli
