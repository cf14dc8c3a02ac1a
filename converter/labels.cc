#include "converter/labels.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/description.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"
#include "converter/readers/found_file.h"
#include "model/limits.h"
#include "model/utf8.h"

namespace linformer::convert {

namespace {

size_t classes_of(const ModelDescription& description, const ClassificationHead& head) {
  return description.tensors[static_cast<size_t>(head.output.weight)].shape[0];
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char character : text) {
    if (character == ',') {
      parts.emplace_back();
    } else {
      parts.back() += character;
    }
  }
  return parts;
}

bool is_label_file(const std::string& text) {
  std::error_code error;
  return text.find(',') == text.npos && std::filesystem::is_regular_file(text, error);
}

// Returns the lines of a file. Empty lines at its end are left out.
std::vector<std::string> lines_of(const std::string& path) {
  constexpr uintmax_t max_bytes = 16u << 20;
  std::error_code error;
  if (std::filesystem::file_size(path, error) > max_bytes) fail(path, " is too large for a list of labels");
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

void check_labels(const std::vector<std::string>& labels, const std::string& source) {
  std::set<std::string> seen;
  for (const std::string& label : labels) {
    if (label.empty()) fail(source, " has an empty label");
    if (!valid_utf8(label)) fail(source, " has a label that is not UTF-8 text");
    if (label.size() > max_name_bytes) fail(source, " has a label of more than ", max_name_bytes, " bytes");
    if (!is_printable_name(label)) {
      fail(source, " has the label ", quote(label), " with control characters, such as a tab: give one without");
    }
    if (!seen.insert(label).second) fail(source, " has the label ", quote(label), " twice");
  }
}

namespace {

// Returns the first head with this number of classes, or null if there is none.
ClassificationHead* head_for(size_t classes, ModelDescription* description) {
  const auto fits = [&](const ClassificationHead& head) { return classes_of(*description, head) == classes; };
  const auto found = std::find_if(description->heads.begin(), description->heads.end(), fits);
  return found == description->heads.end() ? nullptr : &*found;
}

size_t count_fitting(size_t classes, const ModelDescription& description) {
  return static_cast<size_t>(
      std::count_if(description.heads.begin(), description.heads.end(),
                    [&](const ClassificationHead& head) { return classes_of(description, head) == classes; }));
}

std::string heads_text(const ModelDescription& description) {
  std::string text;
  for (const ClassificationHead& head : description.heads) {
    text += (text.empty() ? "" : ", ") + quote(head.name) + " with " + std::to_string(classes_of(description, head)) +
            (classes_of(description, head) == 1 ? " class" : " classes");
  }
  return text.empty() ? "none" : text;
}

std::string counted(size_t labels) { return std::to_string(labels) + (labels == 1 ? " label" : " labels"); }

// Returns the head that an argument of the form "HEAD=a,b" names, or null if the argument is a path or has no '='.
// Throws Error if the model has no head of that name.
ClassificationHead* named_head(const std::string& argument, ModelDescription* description) {
  if (is_label_file(argument)) return nullptr;  // The '=' in it, if any, is a part of the path.
  ClassificationHead* named = nullptr;
  for (ClassificationHead& head : description->heads) {
    // The name of a head may contain '='. The longest name that the argument begins with is taken.
    if (argument.starts_with(head.name + "=") && (!named || named->name.size() < head.name.size())) named = &head;
  }
  const size_t equals = argument.find('=');
  if (named == nullptr && equals != argument.npos) {
    fail(placeholder(Option::labels), " ", quote(argument), ": the model has no head ",
         quote(argument.substr(0, equals)), "; its heads: ", heads_text(*description),
         ". A label that holds an = needs its head's name before it: HEAD=label,label");
  }
  return named;
}

ClassificationHead* only_head_for(const std::string& argument, size_t labels, ModelDescription* description) {
  const std::string heads = "; the model's heads: " + heads_text(*description);
  const size_t fitting = count_fitting(labels, *description);
  if (fitting > 1)
    fail(placeholder(Option::labels), " ", quote(argument), " fits several heads: write HEAD=label,label", heads);
  if (fitting == 0) {
    // If the argument has no comma, the user may have meant it as the path of a file.
    const bool path = argument.find(',') == argument.npos && !is_label_file(argument);
    fail(placeholder(Option::labels), " ", quote(argument), " has ", counted(labels), ", which fits no head", heads,
         path ? ". There is no file of that name: give the names themselves, as in " + placeholder(Option::labels) +
                    " negative,positive, or a file with one on each line"
              : "");
  }
  return head_for(labels, description);
}

void set(ClassificationHead* head, std::vector<std::string> labels, const std::string& source, Report* report) {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : ", ") + label;
  report->add_fact("labels of " + head->name, text, source);
  head->labels = std::move(labels);
}

}  // namespace

void apply_labels(const std::vector<std::string>& given, ModelDescription* description, Report* report) {
  for (const std::string& argument : given) {
    if (description->heads.empty()) {
      fail(placeholder(Option::labels), " ", quote(argument), ": the model has no classification heads: leave ",
           placeholder(Option::labels), " out");
    }
    ClassificationHead* head = named_head(argument, description);
    const std::string names = head ? argument.substr(head->name.size() + 1) : argument;
    const bool file = is_label_file(names);
    std::vector<std::string> labels = file ? lines_of(names) : split(names);
    check_labels(labels, file ? names : placeholder(Option::labels));
    if (head == nullptr) {
      head = only_head_for(argument, labels.size(), description);
    } else if (classes_of(*description, *head) != labels.size()) {
      fail(placeholder(Option::labels), " ", quote(argument), ": head ", quote(head->name), " has ",
           classes_of(*description, *head), " classes, ", counted(labels.size()),
           labels.size() == 1 ? " was given" : " were given");
    }
    set(head, std::move(labels), (file ? names + ", " : "") + placeholder(Option::labels), report);
  }
}

std::vector<std::string> label_files(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& argument : given) {
    // A path may follow "HEAD=", and the name of a head may contain '='. So the rest of the argument after each '=' is
    // tried.
    for (size_t begin = 0; begin != argument.npos;) {
      if (is_label_file(argument.substr(begin))) files.push_back(argument.substr(begin));
      const size_t equals = argument.find('=', begin);
      begin = equals == argument.npos ? equals : equals + 1;
    }
  }
  return files;
}

std::string labels_file(const std::string& folder) { return (std::filesystem::path(folder) / "labels.txt").string(); }

void apply_labels_file(const std::string& folder, ModelDescription* description, Report* report) {
  const std::string path = labels_file(folder);
  if (!finds_file(path)) return;
  std::vector<std::string> labels = lines_of(path);
  if (count_fitting(labels.size(), *description) != 1) {
    report->notes.push_back(
        path + " has " + std::to_string(labels.size()) +
        " labels, which fits no head or several, and was not used. Heads: " + heads_text(*description));
    return;
  }
  check_labels(labels, path);
  ClassificationHead* head = head_for(labels.size(), description);
  set(head, std::move(labels), path, report);
}

}  // namespace linformer::convert
