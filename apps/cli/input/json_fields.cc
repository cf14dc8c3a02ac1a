#include "input/json_fields.h"

#include <algorithm>

#include "input/records.h"

namespace linformer::cli {
namespace {

using nlohmann::json;

// Receives the events of the JSON parser and limits the depth of nesting. The derived classes handle the values.
class Events : public nlohmann::json_sax<json> {
 public:
  const std::string& error() const { return error_; }
  bool ends_early() const { return ends_early_; }

  bool null() override { return scalar(json(nullptr)); }
  bool boolean(bool value) override { return scalar(json(value)); }
  bool number_integer(number_integer_t value) override { return scalar(json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(json(value)); }
  bool number_float(number_float_t value, const string_t& written) override { return real(value, written); }
  bool string(string_t& value) override { return scalar(json(std::move(value))); }
  bool binary(binary_t&) override { return fail("not JSON"); }
  bool start_object(std::size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& exception) override {
    // The message of the JSON library quotes the input, which may be hostile. Ours is always one line.
    const std::string reason = exception.what();
    const auto says = [&](const char* part) { return reason.find(part) != std::string::npos; };
    ends_early_ = says("unexpected end of input");
    return fail((says("ill-formed UTF-8") ? "not JSON: invalid UTF-8 at byte " : "not JSON: syntax error at byte ") +
                std::to_string(position));
  }

 protected:
  virtual bool scalar(json value) = 0;
  virtual bool real(double value, const std::string&) { return scalar(json(value)); }
  virtual bool opened(bool object, int depth) = 0;
  bool fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return false;
  }
  int depth() const { return depth_; }

 private:
  bool open(bool object) {
    if (++depth_ > max_json_depth) return fail("JSON nested deeper than " + std::to_string(max_json_depth));
    return opened(object, depth_);
  }
  bool close() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  bool ends_early_ = false;
  std::string error_;
};

class FieldEvents : public Events {
 public:
  explicit FieldEvents(std::vector<JsonField>* fields) : fields_(fields) {}

  bool key(string_t& name) override {
    if (depth() == 1) return choose_field(name);
    if (depth() == 2 && outer_) choose_inner(name);
    if (depth() == level_ + 2 && list_) choose_member(name);
    return true;
  }

 protected:
  bool scalar(json value) override {
    if (depth() == 0) return fail("not a JSON object");
    if (depth() == level_ && current_) {
      current_->value = std::move(value);
    } else if (depth() == level_ + 1 && list_) {
      add_entry(std::move(value));
    } else if (depth() == level_ + 2 && member_) {
      list_->value.back()[*member_] = std::move(value);
    }
    return true;
  }
  bool real(double value, const std::string& written) override {
    if (depth() == level_ && current_) current_->written = written;
    return scalar(json(value));
  }
  bool opened(bool object, int depth) override {
    if (depth == 1) return object || fail("not a JSON object");
    if (depth == level_ + 1 && current_) {
      current_->value = object ? json::object() : json::array();
      if (object && level_ == 1 && !current_->inner.empty()) {
        outer_ = current_;
        current_ = nullptr;
      } else if (!object && current_->max_entries > 0) {
        list_ = current_;
      }
    } else if (depth == level_ + 2 && list_) {
      member_ = nullptr;
      add_entry(object && !list_->members.empty() ? json::object() : json(nullptr));
    }
    return true;
  }

 private:
  bool choose_field(const std::string& name) {
    current_ = list_ = outer_ = nullptr;
    level_ = 1;
    for (JsonField& field : *fields_) {
      if (field.name != name) continue;
      if (!field.value.is_discarded()) return fail("field '" + name + "' occurs twice");
      field.value = nullptr;
      current_ = &field;
    }
    return true;
  }
  void choose_inner(const std::string& name) {
    list_ = nullptr;
    current_ = name == outer_->inner ? outer_ : nullptr;
    level_ = current_ ? 2 : 1;
    if (current_) current_->value = nullptr;
  }
  void add_entry(json value) {
    if (list_->value.size() <= list_->max_entries) list_->value.push_back(std::move(value));
  }
  // If there are too many entries, members of the surplus ones are stored in the last entry that is kept. That does no
  // harm, because callers refuse an array with too many entries.
  void choose_member(const std::string& name) {
    const auto found = std::find(list_->members.begin(), list_->members.end(), name);
    member_ = found == list_->members.end() || !list_->value.back().is_object() ? nullptr : &*found;
  }

  std::vector<JsonField>* fields_;
  JsonField* current_ = nullptr;         // The field whose value comes next.
  JsonField* list_ = nullptr;            // The field whose array is being read.
  JsonField* outer_ = nullptr;           // The field whose object is being read for its member JsonField::inner.
  int level_ = 1;  // The depth of the object that has the value as a member: 1, or 2 for JsonField::inner.
  // The name of the member whose value comes next. The member belongs to the object that is the last entry of list_.
  // Null if the value isn't wanted.
  const std::string* member_ = nullptr;
};

class IntegerEvents : public Events {
 public:
  explicit IntegerEvents(std::vector<int64_t>* values) : values_(values) {}
  bool key(string_t&) override { return true; }

 protected:
  bool scalar(json value) override {
    if (depth() != 1) return fail("not a JSON array of token ids");
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)) {
      return fail("entry " + std::to_string(values_->size()) + " is not a token id");
    }
    values_->push_back(value.get<int64_t>());
    return true;
  }
  bool opened(bool object, int depth) override {
    return (!object && depth == 1) || fail("not a JSON array of token ids");
  }

 private:
  std::vector<int64_t>* values_;
};

std::string parse(std::string_view line, Events* events) {
  if (json::sax_parse(line.begin(), line.end(), events)) return {};
  return events->error().empty() ? "not JSON" : events->error();
}

}  // namespace

std::string read_json_fields(std::string_view line, std::vector<JsonField>* fields) {
  FieldEvents events(fields);
  std::string error = parse(line, &events);
  if (error.empty()) return error;
  const size_t start = line.find_first_not_of(" \t\r");
  if (start != std::string_view::npos && line[start] != '{') {
    error += "; a record is an object; for lines of plain text add --format text";
  } else if (events.ends_early()) {
    error += ", where the line ends; a record is one line: jq -c . FILE";
  }
  return error;
}

std::string read_json_integers(std::string_view line, std::vector<int64_t>* values) {
  values->clear();
  IntegerEvents events(values);
  return parse(line, &events);
}

}  // namespace linformer::cli
