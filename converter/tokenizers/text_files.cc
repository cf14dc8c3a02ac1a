#include "converter/tokenizers/text_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "converter/readers/error.h"
#include "converter/readers/value.h"

namespace linformer::convert {

std::string read_text_file(const std::string& path, Budget* budget) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) fail(path, " is not a file that can be read");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const uint64_t size = std::filesystem::file_size(path, error);
  if (!file || error) fail(path, " cannot be read: ", errno != 0 ? std::strerror(errno) : error.message());
  if (size > max_tokenizer_file_bytes) {
    fail(path, " has ", size, " bytes; a tokenizer file has at most ", max_tokenizer_file_bytes);
  }
  budget->raise_limits(size);
  budget->charge_memory(size);
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (file.gcount() != static_cast<std::streamsize>(size)) fail(path, " cannot be read to its end");
  return text;
}

bool Lines::next(std::string_view* line) {
  if (rest_.empty()) return false;
  const size_t end = std::min(rest_.find('\n'), rest_.size());
  *line = rest_.substr(0, end);
  if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return true;
}

namespace {

using nlohmann::json;

// Builds the same tree as nlohmann's parser. Throws Error if the tree is deeper than max_depth or exceeds the budget.
class TreeBuilder : public nlohmann::json_sax<json> {
 public:
  TreeBuilder(const std::string& path, Budget* budget) : path_(path), budget_(*budget) {}
  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool truth) override { return add(truth); }
  bool number_integer(number_integer_t number) override { return add(number); }
  bool number_unsigned(number_unsigned_t number) override { return add(number); }
  bool number_float(number_float_t number, const string_t&) override { return add(number); }
  bool string(string_t& text) override {
    charge_text(text);
    return add(std::move(text));
  }
  bool binary(binary_t&) override { return false; }  // Only binary formats have such values, JSON has none.
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    constexpr uint64_t node = 64;  // The approximate size of a node in the map of an object's members, in bytes.
    budget_.charge_memory(node);
    charge_text(name);
    member_ = &open_.back()->get_ref<json::object_t&>()[std::move(name)];
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    constexpr int number_too_large = 406;
    if (error.id == number_too_large) fail(path_, " has a number that is too large");
    fail(path_, " is not valid JSON at byte ", position);
  }

 private:
  void charge_text(const std::string& text) { budget_.charge_memory(sizeof(std::string) + text.size()); }
  json* place(json value) {
    budget_.charge_memory(sizeof(json));
    budget_.charge_steps(1);
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (!open_.back()->is_array()) {
      *member_ = std::move(value);
      return member_;
    }
    auto& items = open_.back()->get_ref<json::array_t&>();
    items.push_back(std::move(value));
    return &items.back();
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (open_.size() >= static_cast<size_t>(max_depth)) fail(path_, " nests deeper than ", max_depth, " levels");
    budget_.charge_memory(sizeof(json::object_t));
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& path_;
  Budget& budget_;
  json root_;
  std::vector<json*> open_;  // The open containers. They stay in place, because a container inside them is still open.
  json* member_ = nullptr;   // The place of the next value in the innermost object.
};

}  // namespace

json read_json_file(const std::string& path, Budget* budget) {
  const std::string text = read_text_file(path, budget);
  TreeBuilder builder(path, budget);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace linformer::convert
