#include "converter/option_names.h"

#include <algorithm>
#include <iterator>

namespace linformer::convert {
namespace {

// A placeholder consists of `begin`, a letter for the option, the value and `end`. Names from files are escaped before
// they enter a sentence, so these control characters occur only in placeholders.
constexpr char begin = '\x1d', end = '\x1e', first_letter = 'a';

constexpr const char* fields[] = {"output",      "tokenizer", "labels",      "head_kinds",        "config", "dialect",
                                  "weight_type", "keep",      "replace_any", "supported_dialects"};

std::string word_of(Option option, const std::string& value, const Control& control) {
  if (control.option_name) return control.option_name(option, value);
  const std::string field = fields[static_cast<size_t>(option)];
  return value.empty() ? field : field + " '" + value + "'";
}

}  // namespace

std::string placeholder(Option option, std::string_view value) {
  std::string made = {begin, static_cast<char>(first_letter + static_cast<int>(option))};
  std::remove_copy_if(value.begin(), value.end(), std::back_inserter(made),
                      [](char character) { return character == begin || character == end; });
  return made + end;
}

std::string with_option_names(const std::string& sentence, const Control& control) {
  std::string named;
  size_t done = 0;
  for (size_t at; (at = sentence.find(begin, done)) != sentence.npos;) {
    named.append(sentence, done, at - done);
    done = at + 1;
    const size_t stop = sentence.find(end, at);
    const int option = stop == sentence.npos ? -1 : sentence[at + 1] - first_letter;
    if (option < 0 || option >= static_cast<int>(std::size(fields))) {
      named += begin;
      continue;
    }
    named += word_of(static_cast<Option>(option), sentence.substr(at + 2, stop - at - 2), control);
    done = stop + 1;
  }
  return named.append(sentence, done);
}

namespace {

void name_facts(const Control& control, std::vector<Report::Fact>* facts) {
  for (Report::Fact& fact : *facts) {
    fact.value = with_option_names(fact.value, control);
    fact.source = with_option_names(fact.source, control);
  }
}

void name_texts(const Control& control, std::vector<std::string>* texts) {
  for (std::string& text : *texts) text = with_option_names(text, control);
}

}  // namespace

void insert_option_names(const Control& control, Report* report) {
  report->recognised_by = with_option_names(report->recognised_by, control);
  name_facts(control, &report->facts);
  for (Report::Mapping& mapping : report->mapped) mapping.note = with_option_names(mapping.note, control);
  for (Report::Omission& omission : report->left_out) omission.reason = with_option_names(omission.reason, control);
  name_texts(control, &report->notes);
  name_texts(control, &report->cautions);
  for (UnusedSetting& setting : report->unused_settings) setting.source = with_option_names(setting.source, control);
}

void insert_option_names(const Control& control, ExportReport* report) {
  name_facts(control, &report->facts);
  for (ExportReport::Row& row : report->rows) row.note = with_option_names(row.note, control);
  name_texts(control, &report->notes);
}

}  // namespace linformer::convert
