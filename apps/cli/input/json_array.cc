#include "input/json_array.h"

namespace linformer::cli {
namespace {

bool is_space(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

JsonArray::JsonArray(ByteSource* source, size_t max_bytes, uint64_t line)
    : source_(source), max_bytes_(max_bytes), line_(line), current_line_(line) {
  source_->get();
}

DataError JsonArray::array_error(const std::string& what) const {
  return DataError(source_->name() + ":" + std::to_string(current_line_) + ": " + what);
}

void JsonArray::skip_space() {
  for (int c; is_space(c = source_->peek()); source_->get()) current_line_ += c == '\n' ? 1 : 0;
}

bool JsonArray::next(std::string* element, std::string* error) {
  element->clear();
  error->clear();
  skip_space();
  if (number_ == 0 && source_->peek() == ']') {
    source_->get();
    closed_ = true;
  }
  if (closed_) {
    skip_space();
    if (source_->peek() < 0) return false;
    throw array_error("more follows the JSON array; give one array, or an object in each line");
  }
  if (source_->peek() < 0) throw array_error("the JSON array has no end; the file is cut short");
  ++number_;
  line_ = current_line_;
  if (!read_element(element)) {
    *error = "the element is longer than " + std::to_string(max_bytes_) + " bytes; raise --max-line-bytes";
  } else if (element->empty()) {
    *error = "an element is missing beside a comma";
  }
  return true;
}

// Reads an element and the comma or bracket that ends it. Returns false if the element is too long.
bool JsonArray::read_element(std::string* element) {
  uint64_t depth = 0;
  bool quoted = false, escaped = false, fits = true;
  for (int c; (c = source_->get()) >= 0;) {
    if (c == '\n') ++current_line_;
    if (quoted) {
      quoted = escaped || c != '"';
      escaped = !escaped && c == '\\';
    } else if (depth == 0 && (c == ',' || c == ']')) {
      closed_ = c == ']';
      while (!element->empty() && is_space(element->back())) element->pop_back();
      return fits;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
    fits = fits && element->size() < max_bytes_;
    if (fits) element->push_back(static_cast<char>(c));
  }
  if (depth == 0 && !quoted && fits && !element->empty() && element->back() == '}') return true;
  throw array_error("the JSON array has no end; the file is cut short");
}

}  // namespace linformer::cli
