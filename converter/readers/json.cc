#include <nlohmann/json.hpp>

#include "converter/readers/error.h"
#include "converter/readers/value.h"

namespace linformer::convert {

namespace {

using nlohmann::json;

// Builds values from the events of nlohmann's SAX parser. That parser is iterative, so deep nesting can't exhaust the
// call stack.
class ValueBuilder : public nlohmann::json_sax<json> {
 public:
  ValueBuilder(ValueStore& store, const std::string& what) : store_(store), what_(what) {}
  Value root() const { return root_; }

  bool null() override { return add(store_.make(ValueKind::null)); }
  bool boolean(bool truth) override {
    const Value value = store_.make(ValueKind::boolean);
    value.node()->integer = truth;
    return add(value);
  }
  bool number_integer(number_integer_t number) override { return add(store_.make_integer(number)); }
  bool number_unsigned(number_unsigned_t number) override {
    if (number > static_cast<uint64_t>(INT64_MAX)) return add_real(static_cast<double>(number));
    return add(store_.make_integer(static_cast<int64_t>(number)));
  }
  bool number_float(number_float_t number, const string_t&) override { return add_real(number); }
  bool string(string_t& text) override { return add(store_.make_text(std::move(text))); }
  bool binary(binary_t&) override { return false; }  // Only binary formats have such values, JSON has none.
  bool start_object(std::size_t) override { return open(ValueKind::dict); }
  bool start_array(std::size_t) override { return open(ValueKind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    const Value key = store_.make_text(std::move(name));
    if (!keys_.back().insert(key.text()).second)
      fail(what_, " has the key ", quote(key.text()), " twice in one object");
    open_.back().node()->items.push_back(key);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail(what_, " is not valid JSON at byte ", position);
  }

 private:
  bool add_real(double number) {
    const Value value = store_.make(ValueKind::real);
    value.node()->real = number;
    return add(value);
  }
  bool add(Value value) {
    if (open_.empty()) {
      root_ = value;
    } else {
      open_.back().node()->items.push_back(value);
    }
    return true;
  }
  bool open(ValueKind kind) {
    if (open_.size() >= static_cast<size_t>(max_depth)) fail(what_, " nests deeper than ", max_depth, " levels");
    const Value value = store_.make(kind);
    add(value);
    open_.push_back(value);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  ValueStore& store_;
  const std::string& what_;
  Value root_;
  std::vector<Value> open_;
  std::vector<ViewSet> keys_;  // The keys of each object in open_.
};

}  // namespace

Value parse_json(ValueStore& store, std::string_view text, const std::string& what) {
  store.budget().raise_limits(text.size());
  ValueBuilder builder(store, what);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.root();
}

}  // namespace linformer::convert
