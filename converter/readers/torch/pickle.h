// A pickle machine that builds plain data and runs no code.
//
// It knows a fixed list of opcodes and a fixed list of global names, for which it has constructors of its own. A global
// name becomes a value of kind `global`. A call of an unknown name becomes an `object` that records the name.
// Nothing is imported, looked up or called, so a hostile pickle can at worst describe strange data. The opcodes are
// those of protocols 2 to 5 that torch.save and its users write, as CPython's pickletools describes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "converter/readers/value.h"

namespace linformer::convert {

struct PickleHooks {
  // Returns the value that a persistent id stands for. Throws Error if the id is not valid.
  std::function<Value(Value id)> persistent;
  // Returns the value of a call name(arguments), for names that the machine does not know. Returns an empty value if
  // the hook does not know the name.
  std::function<Value(std::string_view name, Value arguments)> construct;
};

class PickleMachine {
 public:
  // Texts and bytes of the result refer to `pickle`, which must outlive `store`. The bytes that the machine has read
  // are admitted to the store's budget.
  PickleMachine(ValueStore& store, std::span<const std::byte> pickle, PickleHooks hooks);
  // Runs the pickle to the opcode STOP and returns its value. Throws Error, which names the opcode and its offset.
  Value run();
  // Returns the length of the pickle in bytes, STOP included. Valid after run().
  uint64_t consumed() const { return position_; }
  // Returns the global names that were called and for which there is no constructor, in the order of appearance.
  const std::vector<std::string>& opaque_globals() const { return opaque_globals_; }

 private:
  void execute(uint8_t opcode);
  bool run_constant_opcode(uint8_t opcode);
  bool run_memo_or_stack_opcode(uint8_t opcode);
  bool run_building_opcode(uint8_t opcode);

  std::span<const std::byte> read_bytes(uint64_t bytes);
  template <class Number>
  Number read_number();
  std::string_view read_text(uint64_t bytes);
  std::string_view read_line();

  void push(Value value);
  Value pop();
  Value& top();
  std::vector<Value> pop_to_mark();
  void store_in_memo(uint64_t index);
  void push_from_memo(uint64_t index);
  void push_text(uint64_t bytes, ValueKind kind);
  void push_long(uint64_t bytes);
  void push_sequence(ValueKind kind, std::vector<Value> items);
  void append(Value container, const std::vector<Value>& items, bool pairs);
  void push_global(std::string_view module, std::string_view name);
  Value reduce(Value callable, Value arguments);
  Value construct_known(std::string_view name, Value arguments);
  void charge_copy(Value source);
  void set_state(Value target, Value state);

  ValueStore& store_;
  std::span<const std::byte> pickle_;
  PickleHooks hooks_;
  uint64_t position_ = 0;
  std::vector<Value> stack_;
  std::vector<size_t> marks_;
  std::vector<Value> memo_;
  ViewMap<Value> globals_;  // Maps the name of each global to its value.
  std::string name_;        // The name of the current global, kept to reuse its memory.
  std::vector<std::string> opaque_globals_;
  std::unordered_set<const Node*> called_;  // The globals whose names are in opaque_globals_.
};

}  // namespace linformer::convert
