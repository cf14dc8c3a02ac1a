#include "input/table_rows.h"

#include <utility>

namespace linformer::cli {
namespace {

void add_field(std::string value, std::vector<std::string>* fields, std::string* error) {
  if (fields->size() < max_fields) {
    fields->push_back(std::move(value));
  } else if (error->empty()) {
    *error = "more than " + std::to_string(max_fields) + " fields";
  }
}

}  // namespace

bool TableRows::next(std::vector<std::string>* fields, std::string* error) {
  fields->clear();
  error->clear();
  return quoted_ ? next_csv(fields, error) : next_tsv(fields, error);
}

bool TableRows::next_tsv(std::vector<std::string>* fields, std::string* error) {
  LineResult result;
  do {
    result = source_->read_line(&buffer_, max_bytes_);
    if (result == LineResult::end) return false;
    line_ = ++lines_read_;
    if (!buffer_.empty() && buffer_.back() == '\r') buffer_.pop_back();
  } while (result == LineResult::line && buffer_.empty());
  if (result == LineResult::too_long) {
    *error = "the row is longer than " + std::to_string(max_bytes_) + " bytes; raise --max-line-bytes";
    return true;
  }
  size_t start = 0;
  for (size_t end; error->empty() && (end = buffer_.find(delimiter_, start)) != std::string::npos; start = end + 1) {
    add_field(buffer_.substr(start, end - start), fields, error);
  }
  add_field(buffer_.substr(start), fields, error);
  return true;
}

bool TableRows::next_csv(std::vector<std::string>* fields, std::string* error) {
  size_t bytes = 0;
  const auto start_row = [&] {
    // Blank lines are skipped.
    for (int c; (c = source_->peek()) == '\n' || c == '\r';) {
      source_->get();
      if (c == '\n') ++lines_read_;
    }
    state_ = State::field_start;
    line_ = lines_read_ + 1;
    buffer_.clear();
    return source_->peek() >= 0;
  };
  if (!skipping_ && !start_row()) return false;
  for (;;) {
    const int c = source_->get();
    if (c == '\n') ++lines_read_;
    if (c >= 0 && (c != '\n' || state_ == State::quoted)) {
      step(static_cast<char>(c), fields, error);
      if (!skipping_ && ++bytes > max_bytes_) {
        *error = "the row is longer than " + std::to_string(max_bytes_) +
                 " bytes, or a quote is never closed; correct the quotes or raise --max-line-bytes";
        skipping_ = true;
        return true;
      }
      continue;
    }
    if (skipping_) {
      skipping_ = false;
      if (!start_row()) return false;
      continue;
    }
    if (state_ == State::quoted && error->empty()) *error = "a quote is never closed";
    if (state_ == State::plain && !buffer_.empty() && buffer_.back() == '\r') buffer_.pop_back();
    end_field(fields, error);
    return true;
  }
}

// Handles a byte that doesn't end the row.
void TableRows::step(char c, std::vector<std::string>* fields, std::string* error) {
  const auto store = [&](char stored) {
    if (!skipping_) buffer_.push_back(stored);
  };
  switch (state_) {
    case State::field_start:
    case State::plain:
      if (c == '"' && state_ == State::field_start) {
        state_ = State::quoted;
      } else if (c == delimiter_) {
        end_field(fields, error);
      } else {
        store(c);
        state_ = State::plain;
      }
      break;
    case State::quoted:
      if (c == '"') {
        state_ = State::after_quote;
      } else {
        store(c);
      }
      break;
    case State::after_quote:
      if (c == '"') {
        store(c);
        state_ = State::quoted;
      } else if (c == delimiter_) {
        end_field(fields, error);
      } else if (c != '\r') {
        *error = "there is text after a closing quote";
        state_ = State::plain;  // Quotes in the rest of the row have no meaning.
      }
      break;
  }
}

void TableRows::end_field(std::vector<std::string>* fields, std::string* error) {
  if (!skipping_) add_field(std::move(buffer_), fields, error);
  buffer_.clear();
  state_ = State::field_start;
}

}  // namespace linformer::cli
