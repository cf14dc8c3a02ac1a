// A tree of plain data that was read from a pickle or from JSON, such as the settings of a checkpoint.
//
// A ValueStore owns the nodes, and values are handles to them. So a hostile pickle that refers to the same data a
// million times costs a million handles but no copies, cycles do not leak, and nothing is destroyed recursively. Nodes
// are charged to the store's budget. Code that walks a tree must limit the depth and the number of nodes that it
// visits.
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
// The deepest nesting that is read or walked. Real configurations nest fewer than 10 levels.
inline constexpr int max_depth = 64;

enum class ValueKind : uint8_t {
  null = 0,
  boolean,
  integer,
  big_integer,  // An integer of more than 64 bits. `text` holds its little-endian bytes.
  real,
  text,
  bytes,
  list,
  tuple,
  dict,     // `items` holds key, value, key, value, ... in the order of insertion.
  global,   // A name that a pickle imports. `text` is "module.name". Nothing is imported.
  object,   // An instance of the class `text`, with the arguments of its construction and the state that was set later.
  storage,  // A storage or a part of one. `integer` is its index in TorchObjects (torch/objects.h).
  tensor,   // A tensor. `integer` is its index in TorchObjects.
};

struct Node;

// A copyable handle to a node. An empty handle reads as null. A handle is valid as long as the store that made it.
class Value {
 public:
  Value() = default;
  explicit Value(Node* node) : node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }
  ValueKind kind() const;
  bool is(ValueKind wanted) const { return kind() == wanted; }
  const char* kind_name() const;

  std::optional<int64_t> integer() const;  // Returns the number of an integer or a boolean.
  std::optional<double> real() const;      // Returns the number of a real or an integer.
  std::optional<bool> boolean() const;     // Returns the value of a boolean or of an integer that is 0 or 1.
  // Returns the content of a text or bytes, the bytes of a big_integer, or the name of a global or of an object's
  // class. Otherwise empty.
  std::string_view text() const;
  // Returns the elements of a list or tuple, or the keys and values of a dict in turn. Otherwise empty.
  const std::vector<Value>& items() const;
  // Returns the value of a text key in a dict or in an object's state. If the key is repeated, the last value counts.
  // Returns an empty handle if there is no such key.
  Value find(std::string_view key) const;
  Value arguments() const;
  Value state() const;
  Node* node() const { return node_; }

 private:
  Node* node_ = nullptr;
};

// An index of the keys of a dict.
struct KeyIndex {
  ViewMap<size_t> places;  // Maps each key to the place of its value in the items.
  size_t items = 0;        // The number of items when the index was made.
};

struct Node {
  ValueKind kind = ValueKind::null;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;
  std::vector<Value> items;
  Value arguments, state;
  std::unique_ptr<KeyIndex> index;  // Made by the first find() in a dict with many keys.
};

// The owner of nodes and of strings that they refer to. Its functions throw Error if it would have more than max_nodes
// nodes, or if its budget is exhausted.
class ValueStore {
 public:
  Value make(ValueKind kind);
  Value make_integer(int64_t integer);
  Value make_text(std::string text);
  Value make_view(ValueKind kind, std::string_view text);  // `text` must outlive the store.
  // Stores a string and returns a view of it, which is valid as long as the store.
  std::string_view store_string(std::string text);
  // Returns the budget of the inputs from which the values are made. The reader of an input admits its bytes.
  Budget& budget() const { return budget_; }

 private:
  mutable Budget budget_;
  std::deque<Node> nodes_;
  std::deque<std::string> strings_;
};

// Returns the plain value inside the wrappers that configuration libraries pickle. A wrapper is an object with `_val`
// or `_content` in its state, or a member of an enumeration that is constructed from one text.
Value without_config_wrappers(Value value);

// Parses `text` as one JSON value and admits its bytes to the store's budget. `what` names the source in errors. Throws
// Error if the text is not JSON, has duplicate keys or is nested deeper than max_depth.
Value parse_json(ValueStore& store, std::string_view text, const std::string& what);

}  // namespace linformer::convert
