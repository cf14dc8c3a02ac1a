#include "converter/readers/torch/pickle.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/checked.h"
#include "converter/readers/bytes.h"
#include "converter/readers/error.h"
#include "converter/readers/torch/pickle_opcodes.h"

namespace linformer::convert {
namespace {

constexpr size_t max_memo = size_t{1} << 20, max_stack = max_memo;
constexpr uint64_t max_string = uint64_t{64} << 20;  // In bytes, for texts and inline arrays.
constexpr uint64_t max_long = 1024;                  // In bytes, for integers.
constexpr uint64_t max_global_line = 512;            // In bytes, for the name of a module or class.
constexpr size_t max_globals = 4096;                 // Different names. Whole pickled models have some hundreds.
constexpr size_t max_opaque_globals = 256;           // Different names that are kept for the report.
constexpr uint64_t newest_protocol = 5;

}  // namespace

PickleMachine::PickleMachine(ValueStore& store, std::span<const std::byte> pickle, PickleHooks hooks)
    : store_(store), pickle_(pickle), hooks_(std::move(hooks)) {}

Value PickleMachine::run() {
  while (true) {
    const uint64_t at = position_;
    uint8_t opcode = 0;
    try {
      opcode = read_number<uint8_t>();
      if (opcode == op_stop) return pop();
      store_.budget().charge_steps(1);
      execute(opcode);
    } catch (const Error& error) {
      char shown[8];
      std::snprintf(shown, sizeof(shown), "0x%02x", opcode);
      fail("pickle opcode ", shown, " at byte ", at, ": ", error.what());
    }
  }
}

void PickleMachine::execute(uint8_t opcode) {
  if (run_constant_opcode(opcode) || run_memo_or_stack_opcode(opcode) || run_building_opcode(opcode)) return;
  fail("this opcode is not one that torch.save writes: save the state_dict again with torch.save");
}

bool PickleMachine::run_constant_opcode(uint8_t opcode) {
  switch (opcode) {
    case op_none:
      push(store_.make(ValueKind::null));
      return true;
    case op_newtrue:
    case op_newfalse:
      push(store_.make(ValueKind::boolean));
      top().node()->integer = opcode == op_newtrue;
      return true;
    case op_binint:
      push(store_.make_integer(read_number<int32_t>()));
      return true;
    case op_binint1:
      push(store_.make_integer(read_number<uint8_t>()));
      return true;
    case op_binint2:
      push(store_.make_integer(read_number<uint16_t>()));
      return true;
    case op_long1:
      push_long(read_number<uint8_t>());
      return true;
    case op_long4:
      push_long(read_number<uint32_t>());
      return true;
    case op_binfloat: {
      uint64_t bits = 0;  // Only this opcode has a big-endian operand.
      for (const std::byte byte : read_bytes(8)) bits = bits << 8 | static_cast<uint64_t>(byte);
      push(store_.make(ValueKind::real));
      top().node()->real = std::bit_cast<double>(bits);
      return true;
    }
    case op_short_binstring:
    case op_short_binunicode:
      push_text(read_number<uint8_t>(), ValueKind::text);
      return true;
    case op_binstring:
    case op_binunicode:
      push_text(read_number<uint32_t>(), ValueKind::text);
      return true;
    case op_binunicode8:
      push_text(read_number<uint64_t>(), ValueKind::text);
      return true;
    case op_short_binbytes:
      push_text(read_number<uint8_t>(), ValueKind::bytes);
      return true;
    case op_binbytes:
      push_text(read_number<uint32_t>(), ValueKind::bytes);
      return true;
    case op_binbytes8:
      push_text(read_number<uint64_t>(), ValueKind::bytes);
      return true;
    case op_empty_dict:
      push(store_.make(ValueKind::dict));
      return true;
    case op_empty_set:
    case op_empty_list:
      push(store_.make(ValueKind::list));
      return true;
    case op_empty_tuple:
      push(store_.make(ValueKind::tuple));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::run_memo_or_stack_opcode(uint8_t opcode) {
  switch (opcode) {
    case op_proto:
      if (const uint8_t protocol = read_number<uint8_t>(); protocol < 2 || protocol > newest_protocol) {
        fail("pickle protocol ", int{protocol}, " is not supported, only 2 to ", newest_protocol);
      }
      return true;
    case op_frame:
      read_number<uint64_t>();
      return true;  // The length of a frame is only a hint for buffering.
    case op_binget:
      push_from_memo(read_number<uint8_t>());
      return true;
    case op_long_binget:
      push_from_memo(read_number<uint32_t>());
      return true;
    case op_binput:
      store_in_memo(read_number<uint8_t>());
      return true;
    case op_long_binput:
      store_in_memo(read_number<uint32_t>());
      return true;
    case op_memoize:
      store_in_memo(memo_.size());
      return true;
    case op_mark:
      if (marks_.size() >= max_stack) fail("there are too many open marks");
      marks_.push_back(stack_.size());
      return true;
    case op_pop:
      pop();
      return true;
    case op_pop_mark:
      pop_to_mark();
      return true;
    default:
      return false;
  }
}

bool PickleMachine::run_building_opcode(uint8_t opcode) {
  switch (opcode) {
    case op_tuple:
      push_sequence(ValueKind::tuple, pop_to_mark());
      return true;
    case op_frozenset:
      push_sequence(ValueKind::list, pop_to_mark());
      return true;
    case op_tuple1:
    case op_tuple2:
    case op_tuple3: {
      std::vector<Value> items(static_cast<size_t>(opcode - op_tuple1) + 1);
      for (size_t i = items.size(); i-- > 0;) items[i] = pop();
      push_sequence(ValueKind::tuple, std::move(items));
      return true;
    }
    case op_append: {
      const Value item = pop();
      append(top(), {item}, false);
      return true;
    }
    case op_setitem: {
      const Value item = pop(), key = pop();
      append(top(), {key, item}, true);
      return true;
    }
    case op_additems:
    case op_appends:
    case op_setitems: {
      const std::vector<Value> items = pop_to_mark();
      append(top(), items, opcode == op_setitems);
      return true;
    }
    case op_global: {
      const std::string_view module = read_line();
      push_global(module, read_line());
      return true;
    }
    case op_stack_global: {
      const Value name = pop(), module = pop();
      if (!name.is(ValueKind::text) || !module.is(ValueKind::text)) fail("the name of a global is not a text");
      push_global(module.text(), name.text());
      return true;
    }
    case op_newobj_ex:
      pop();
      [[fallthrough]];  // The keyword arguments are ignored, because no known class takes any.
    case op_newobj:
    case op_reduce: {
      const Value arguments = pop(), callable = pop();
      push(reduce(callable, arguments));
      return true;
    }
    case op_build: {
      const Value state = pop();
      set_state(top(), state);
      return true;
    }
    case op_binpersid: {
      const Value id = pop();
      if (!hooks_.persistent) fail("a persistent id appears where there are no storages");
      push(hooks_.persistent(id));
      return true;
    }
    default:
      return false;
  }
}

std::span<const std::byte> PickleMachine::read_bytes(uint64_t bytes) {
  if (!range_within(position_, bytes, pickle_.size())) fail("the pickle ends early: the file is truncated");
  const std::span<const std::byte> taken = pickle_.subspan(position_, bytes);
  position_ += bytes;
  store_.budget().raise_limits(bytes);
  return taken;
}

template <class Number>
Number PickleMachine::read_number() {
  return load<Number>(read_bytes(sizeof(Number)).data());
}

std::string_view PickleMachine::read_text(uint64_t bytes) {
  if (bytes > max_string) fail("a text of ", bytes, " bytes is longer than any in a checkpoint");
  const std::span<const std::byte> taken = read_bytes(bytes);
  return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

std::string_view PickleMachine::read_line() {
  const uint64_t rest = std::min<uint64_t>(pickle_.size() - position_, max_global_line);
  const std::string_view window(reinterpret_cast<const char*>(pickle_.data()) + position_, rest);
  const size_t end = window.find('\n');
  if (end == window.npos) fail("a global's name does not end within ", max_global_line, " bytes");
  read_bytes(end + 1);
  return window.substr(0, end);
}

void PickleMachine::push(Value value) {
  if (stack_.size() >= max_stack) fail("the pickle's stack holds more than ", max_stack, " values");
  stack_.push_back(value);
}

Value PickleMachine::pop() {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) fail("the pickle's stack is empty");
  const Value value = stack_.back();
  stack_.pop_back();
  return value;
}

Value& PickleMachine::top() {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) fail("the pickle's stack is empty");
  return stack_.back();
}

std::vector<Value> PickleMachine::pop_to_mark() {
  if (marks_.empty()) fail("a mark is missing");
  std::vector<Value> items(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  return items;
}

void PickleMachine::store_in_memo(uint64_t index) {
  if (index >= max_memo) fail("memo entry ", index, " is beyond the ", max_memo, " that are kept");
  const Value value = top();
  if (index >= memo_.size()) {
    store_.budget().charge_memory((index + 1 - memo_.size()) * sizeof(Value));
    memo_.resize(index + 1);
  }
  memo_[index] = value;
}

void PickleMachine::push_from_memo(uint64_t index) {
  if (index >= memo_.size() || !memo_[index]) fail("memo entry ", index, " was never set");
  push(memo_[index]);
}

void PickleMachine::push_text(uint64_t bytes, ValueKind kind) { push(store_.make_view(kind, read_text(bytes))); }

void PickleMachine::push_long(uint64_t bytes) {
  if (bytes > max_long) fail("an integer of ", bytes, " bytes is larger than any in a checkpoint");
  const std::string_view digits = read_text(bytes);
  if (bytes > 8) {
    push(store_.make_view(ValueKind::big_integer, digits));
    return;
  }
  uint64_t number = 0;
  for (size_t i = 0; i < digits.size(); ++i) number |= uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
  const bool negative = !digits.empty() && (digits.back() & 0x80);
  if (negative && bytes < 8) number |= ~uint64_t{0} << (8 * bytes);
  push(store_.make_integer(static_cast<int64_t>(number)));
}

void PickleMachine::push_sequence(ValueKind kind, std::vector<Value> items) {
  const Value value = store_.make(kind);
  value.node()->items = std::move(items);
  push(value);
}

void PickleMachine::append(Value container, const std::vector<Value>& items, bool pairs) {
  // An object of an unknown class may be a subclass of list or dict.
  if (!container.is(pairs ? ValueKind::dict : ValueKind::list) && !container.is(ValueKind::object)) {
    fail("items are added to a ", container.kind_name());
  }
  if (pairs && items.size() % 2 != 0) fail("a dict gets a key without a value");
  std::vector<Value>& held = container.node()->items;
  held.insert(held.end(), items.begin(), items.end());
}

void PickleMachine::push_global(std::string_view module, std::string_view name) {
  if (module.size() > max_global_line || name.size() > max_global_line) {
    fail("the pickle names a class or function with more than ", max_global_line, " bytes");
  }
  name_.assign(module).append(".").append(name);
  const auto known = globals_.find(name_);
  if (known != globals_.end()) return push(known->second);
  // A hostile pickle could combine a few long texts into many pairs of module and name, each of which would be stored.
  if (globals_.size() >= max_globals) {
    fail("the pickle names more than ", max_globals,
         " classes and functions: save the model's state_dict, not the model itself");
  }
  const Value global = store_.make_view(ValueKind::global, store_.store_string(name_));
  globals_.emplace(global.text(), global);
  push(global);
}

Value PickleMachine::reduce(Value callable, Value arguments) {
  if (!callable.is(ValueKind::global)) fail("a ", callable.kind_name(), " is called");
  if (!arguments.is(ValueKind::tuple))
    fail(quote(callable.text()), " is given a ", arguments.kind_name(), " for arguments");
  Value made = construct_known(callable.text(), arguments);
  if (!made && hooks_.construct) made = hooks_.construct(callable.text(), arguments);
  if (made) return made;
  if (opaque_globals_.size() < max_opaque_globals && called_.insert(callable.node()).second) {
    opaque_globals_.emplace_back(callable.text());
  }
  const Value object = store_.make_view(ValueKind::object, callable.text());
  object.node()->arguments = arguments;
  return object;
}

Value PickleMachine::construct_known(std::string_view name, Value arguments) {
  const std::vector<Value>& given = arguments.items();
  const Value first = given.empty() ? Value() : given[0];
  if (name == "argparse.Namespace" || name == "types.SimpleNamespace") return store_.make_view(ValueKind::object, name);
  if (name == "collections.OrderedDict" || name == "collections.defaultdict" || name == "collections.Counter" ||
      name == "builtins.dict" || name == "__builtin__.dict") {
    const Value dict = store_.make(ValueKind::dict);
    charge_copy(first);
    if (first.is(ValueKind::dict)) dict.node()->items = first.items();
    if (first.is(ValueKind::list)) {
      for (const Value& pair : first.items()) {
        if (pair.items().size() != 2) fail(quote(name), " is made from something that is not a pair");
        dict.node()->items.insert(dict.node()->items.end(), pair.items().begin(), pair.items().end());
      }
    }
    return dict;
  }
  const bool tuple = name == "torch.Size" || name == "builtins.tuple" || name == "__builtin__.tuple";
  const bool list = name == "builtins.set" || name == "__builtin__.set" || name == "builtins.frozenset" ||
                    name == "__builtin__.frozenset" || name == "builtins.list" || name == "__builtin__.list";
  if (!tuple && !list) return Value();
  charge_copy(first);
  const Value sequence = store_.make(tuple ? ValueKind::tuple : ValueKind::list);
  if (first.is(ValueKind::list) || first.is(ValueKind::tuple)) sequence.node()->items = first.items();
  return sequence;
}

// Charges for the copy of a container. Without the charge, a hostile pickle that copies a container again and again
// would take memory out of proportion to its length.
void PickleMachine::charge_copy(Value source) {
  constexpr uint64_t most = 2;  // An item may be a pair, which becomes a key and a value.
  store_.budget().charge_memory(most * sizeof(Value) * source.items().size());
  store_.budget().charge_steps(source.items().size());
}

void PickleMachine::set_state(Value target, Value state) {
  // The state of a dict is its attributes, such as OrderedDict._metadata, and the state of a tensor is the attributes
  // of a subclass. They hold no weights, so they are ignored.
  if (target.is(ValueKind::dict) || target.is(ValueKind::list) || target.is(ValueKind::tensor)) return;
  if (!target.is(ValueKind::object)) fail("state is set on a ", target.kind_name());
  target.node()->state = state;
}

}  // namespace linformer::convert
