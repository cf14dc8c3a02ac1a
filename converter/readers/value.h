// A tree of plain data, as read from a pickle or from JSON: what a checkpoint says beside its tensors.
//
// Nodes live in a ValueStore and values are handles into it, so that data which a hostile pickle shares a
// million times costs a million handles and not copies, cycles neither leak nor hang, and nothing is destroyed
// recursively. Nodes are charged to the store's budget; whoever walks a tree limits depth and count.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converter/readers/budget.h"
#include "converter/readers/text_map.h"

namespace linformer::convert {

// A checkpoint of 10,000 tensors with its optimizer state needs about half of this many nodes.
inline constexpr size_t max_nodes = size_t{1} << 20;
// Deepest nesting that is read or walked; real configurations nest fewer than 10 levels.
inline constexpr int max_depth = 64;

enum class ValueKind : uint8_t {
  null = 0,
  boolean,
  integer,
  big_integer,  // beyond 64 bits: `text` holds its little-endian bytes
  real,
  text,
  bytes,
  list,
  tuple,
  dict,     // items: key, value, key, value, ... in the order of insertion
  global,   // an imported name that was only looked at: `text` is "module.name"
  object,   // an instance of class `text`: arguments of its construction, state set afterwards
  storage,  // `integer` numbers it
  tensor,   // `integer` numbers it
};

struct Node;

// Copyable handle; an empty handle reads as null. Valid as long as the store that made it.
class Value {
 public:
  Value() = default;
  explicit Value(Node* node) : node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }
  ValueKind kind() const;
  bool is(ValueKind wanted) const { return kind() == wanted; }
  const char* kind_name() const;

  std::optional<int64_t> integer() const;  // integer or boolean
  std::optional<double> real() const;      // real or integer
  std::optional<bool> boolean() const;     // boolean, or an integer 0 or 1
  std::string_view text() const;           // text, bytes, and the names of globals and objects; otherwise empty
  const std::vector<Value>& items() const;
  // The value of a text key in a dict or in an object's state (the last one if repeated); empty when absent.
  Value find(std::string_view key) const;
  Value arguments() const;
  Value state() const;
  Node* node() const { return node_; }

 private:
  Node* node_ = nullptr;
};

// Where the values of a dict's keys are among its items.
struct KeyIndex {
  ViewMap<size_t> places;
  size_t items = 0;  // those that were there when the index was made
};

struct Node {
  ValueKind kind = ValueKind::null;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;
  std::vector<Value> items;
  Value arguments, state;
  std::unique_ptr<KeyIndex> index;  // of a dict with many keys, since the first find()
};

// Owns nodes and the strings that they refer to. Throws Error beyond max_nodes and beyond its budget.
class ValueStore {
 public:
  Value make(ValueKind kind);
  Value make_integer(int64_t integer);
  Value make_text(std::string text);                       // keeps the text
  Value make_view(ValueKind kind, std::string_view text);  // `text` must outlive the store
  std::string_view keep(std::string text);
  // Of the inputs that the values came from; whoever takes one in admits its bytes.
  Budget& budget() const { return budget_; }

 private:
  mutable Budget budget_;
  std::deque<Node> nodes_;
  std::deque<std::string> strings_;
};

// What a value stands for, through the wrappers that configuration libraries pickle: a node with `_val` or
// `_content` in its state, an enumeration member made from one text.
Value unwrapped(Value value);

// Parses `text` as one JSON value and admits it to the store's budget. `what` names the source in errors. No duplicate
// keys, bounded depth.
Value parse_json(ValueStore& store, std::string_view text, const std::string& what);

}  // namespace linformer::convert
