#include "converter/readers/value.h"

#include "converter/readers/error.h"

namespace linformer::convert {

namespace {
const std::vector<Value> no_items;

// Finds the value of a key in a large dict with an index of its keys. A linear search for every setting of every layer
// would take quadratic time.
Value find_indexed(Node* dict, std::string_view key) {
  const std::vector<Value>& items = dict->items;
  if (!dict->index || dict->index->items != items.size()) {
    dict->index = std::make_unique<KeyIndex>();
    dict->index->items = items.size();
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].is(ValueKind::text)) dict->index->places[items[i].text()] = i + 1;
    }
  }
  const auto found = dict->index->places.find(key);
  return found == dict->index->places.end() ? Value() : items[found->second];
}

}  // namespace

ValueKind Value::kind() const { return node_ ? node_->kind : ValueKind::null; }

const char* Value::kind_name() const {
  switch (kind()) {
    case ValueKind::null:
      return "null";
    case ValueKind::boolean:
      return "boolean";
    case ValueKind::integer:
      return "whole number";
    case ValueKind::big_integer:
      return "number of more than 64 bits";
    case ValueKind::real:
      return "number";
    case ValueKind::text:
      return "text";
    case ValueKind::bytes:
      return "bytes";
    case ValueKind::list:
      return "list";
    case ValueKind::tuple:
      return "tuple";
    case ValueKind::dict:
      return "dict";
    case ValueKind::global:
      return "name of a class or function";
    case ValueKind::object:
      return "Python object";
    case ValueKind::storage:
      return "storage";
    case ValueKind::tensor:
      return "tensor";
  }
  return "value";
}

std::optional<int64_t> Value::integer() const {
  if (is(ValueKind::integer) || is(ValueKind::boolean)) return node_->integer;
  return std::nullopt;
}

std::optional<double> Value::real() const {
  if (is(ValueKind::real)) return node_->real;
  if (is(ValueKind::integer)) return static_cast<double>(node_->integer);
  return std::nullopt;
}

std::optional<bool> Value::boolean() const {
  const std::optional<int64_t> number = integer();
  if (number && (*number == 0 || *number == 1)) return *number == 1;
  return std::nullopt;
}

std::string_view Value::text() const { return node_ ? node_->text : std::string_view(); }
const std::vector<Value>& Value::items() const { return node_ ? node_->items : no_items; }
Value Value::arguments() const { return node_ ? node_->arguments : Value(); }
Value Value::state() const { return node_ ? node_->state : Value(); }

Value Value::find(std::string_view key) const {
  Value dict = *this;
  if (is(ValueKind::object)) dict = state();
  if (!dict.is(ValueKind::dict)) return Value();
  const std::vector<Value>& items = dict.items();
  constexpr size_t few = 16;
  if (items.size() > few) return find_indexed(dict.node(), key);
  for (size_t i = items.size(); i >= 2; i -= 2) {
    if (items[i - 2].is(ValueKind::text) && items[i - 2].text() == key) return items[i - 1];
  }
  return Value();
}

Value ValueStore::make(ValueKind kind) {
  if (nodes_.size() >= max_nodes) {
    fail("the checkpoint's structure has more than ", max_nodes,
         " values: keep only the model's weights and settings in it");
  }
  budget_.charge_memory(sizeof(Node) + sizeof(Value));  // The node, and the handle among the items of another node.
  budget_.charge_steps(1);
  Node& node = nodes_.emplace_back();
  node.kind = kind;
  return Value(&node);
}

Value ValueStore::make_integer(int64_t integer) {
  const Value value = make(ValueKind::integer);
  value.node()->integer = integer;
  return value;
}

Value ValueStore::make_view(ValueKind kind, std::string_view text) {
  const Value value = make(kind);
  value.node()->text = text;
  return value;
}

Value ValueStore::make_text(std::string text) { return make_view(ValueKind::text, store_string(std::move(text))); }

std::string_view ValueStore::store_string(std::string text) {
  budget_.charge_memory(sizeof(std::string) + text.size());
  return strings_.emplace_back(std::move(text));
}

Value without_config_wrappers(Value value) {
  for (int depth = 0; depth < 4 && value.is(ValueKind::object); ++depth) {
    const Value inner = value.find("_content") ? value.find("_content") : value.find("_val");
    if (inner) {
      value = inner;
      continue;
    }
    const std::vector<Value>& arguments = value.arguments().items();
    const bool enumeration = !value.state() && arguments.size() == 1 && arguments[0].is(ValueKind::text);
    return enumeration ? arguments[0] : value;
  }
  return value;
}

}  // namespace linformer::convert
