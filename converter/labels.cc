#include "converter/labels.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "converter/readers/error.h"

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

void check(const std::vector<std::string>& labels, const std::string& source) {
  std::set<std::string> seen;
  for (const std::string& label : labels) {
    if (label.empty()) fail(source, " has an empty label");
    if (!valid_utf8(label)) fail(source, " has a label that is not UTF-8 text");
    if (!seen.insert(label).second) fail(source, " has the label ", quote(label), " twice");
  }
}

// The first head in order with this number of classes.
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
            " classes";
  }
  return text.empty() ? "none" : text;
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
    const size_t equals = argument.find('=');
    ClassificationHead* head = nullptr;
    for (ClassificationHead& candidate : description->heads) {
      if (equals != argument.npos && candidate.name == argument.substr(0, equals)) head = &candidate;
    }
    std::vector<std::string> labels = split(head ? argument.substr(equals + 1) : argument);
    check(labels, "--labels");
    const std::string found = "; the model's heads: " + heads_text(*description);
    if (head == nullptr) {
      if (count_fitting(labels.size(), *description) > 1) {
        fail("--labels ", quote(argument), " fits several heads: write HEAD=label,label", found);
      }
      head = head_for(labels.size(), description);
    }
    if (head == nullptr || classes_of(*description, *head) != labels.size()) {
      fail("--labels ", quote(argument), " has ", labels.size(), " labels, which fits no head", found);
    }
    set(head, std::move(labels), "--labels", report);
  }
}

void apply_labels_file(const std::string& folder, ModelDescription* description, Report* report) {
  constexpr uintmax_t max_bytes = 16u << 20;
  const std::string path = (std::filesystem::path(folder) / "labels.txt").string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  if (std::filesystem::file_size(path, error) > max_bytes) fail(path, " is too large for a list of labels");
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    labels.push_back(line);
  }
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  if (count_fitting(labels.size(), *description) != 1) {
    report->notes.push_back(
        path + " has " + std::to_string(labels.size()) +
        " labels, which fits no head or several, and was not used. Heads: " + heads_text(*description));
    return;
  }
  check(labels, path);
  ClassificationHead* head = head_for(labels.size(), description);
  set(head, std::move(labels), path, report);
}

}  // namespace linformer::convert
