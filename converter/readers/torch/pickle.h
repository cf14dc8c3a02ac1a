// A pickle machine that only makes data.
//
// It knows a fixed list of opcodes and a fixed list of literal global names, each mapped to a constructor of ours.
// Any other global becomes a value of kind `global`, what is "called" on it an `object` that records the name.
// Nothing is imported, looked up or called, so a hostile pickle can at worst describe strange data.
// Source: CPython's pickletools, the opcodes of protocols 2 to 5 that torch.save and its users write.
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
  // What a persistent id stands for; throws Error when it means nothing.
  std::function<Value(Value id)> persistent;
  // Makes the value of NAME(ARGUMENTS) for further names; an empty value where the name is unknown.
  std::function<Value(std::string_view name, Value arguments)> construct;
};

class PickleMachine {
 public:
  // Texts and bytes of the result refer to `pickle`, which must outlive `store`. The bytes that the machine has read
  // are admitted to the store's budget.
  PickleMachine(ValueStore& store, std::span<const std::byte> pickle, PickleHooks hooks);
  // Runs to STOP and returns the value. Errors name the opcode and its offset.
  Value run();
  // Bytes up to and including STOP, after run().
  uint64_t consumed() const { return position_; }
  // Global names met that no constructor is known for, in order of appearance.
  const std::vector<std::string>& opaque_globals() const { return opaque_globals_; }

 private:
  void execute(uint8_t opcode);
  bool push_plain(uint8_t opcode);
  bool use_memo(uint8_t opcode);
  bool build(uint8_t opcode);

  std::span<const std::byte> take(uint64_t bytes);
  template <class Number>
  Number take_number();
  std::string_view take_text(uint64_t bytes);
  std::string_view take_line();

  void push(Value value);
  Value pop();
  Value& top();
  std::vector<Value> pop_to_mark();
  void remember(uint64_t index);
  void recall(uint64_t index);
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
  ViewMap<Value> globals_;  // one value for each name
  std::string name_;        // of the global at hand
  std::vector<std::string> opaque_globals_;
  std::unordered_set<const Node*> called_;  // globals that no constructor is known for
};

}  // namespace linformer::convert
