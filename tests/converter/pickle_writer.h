// Writes pickles opcode by opcode: valid ones for small checkpoints, and invalid ones for hostile files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace linformer_test {

template <class Number>
std::string raw(Number number) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof(number));
}

class PickleWriter {
 public:
  explicit PickleWriter(int protocol = 2) : bytes_{'\x80', static_cast<char>(protocol)} {}

  PickleWriter& op(char opcode) { return append(std::string(1, opcode)); }
  PickleWriter& append(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  PickleWriter& mark() { return op('('); }
  PickleWriter& none() { return op('N'); }
  PickleWriter& boolean(bool value) { return op(value ? '\x88' : '\x89'); }
  PickleWriter& integer(int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) return op('J').append(raw(static_cast<int32_t>(value)));
    return op('\x8a').op(8).append(raw(value));
  }
  PickleWriter& text(std::string_view value) {
    return op('X').append(raw(static_cast<uint32_t>(value.size()))).append(value);
  }
  PickleWriter& global(std::string_view module, std::string_view name) {
    return op('c').append(module).op('\n').append(name).op('\n');
  }
  PickleWriter& tuple(const std::vector<int64_t>& values) {
    mark();
    for (const int64_t value : values) integer(value);
    return op('t');
  }
  PickleWriter& empty_dict() { return op('}'); }
  PickleWriter& set_item() { return op('s'); }
  PickleWriter& reduce() { return op('R'); }
  // Writes ('storage', CLASS, key, 'cpu', elements) as a persistent id.
  PickleWriter& storage(std::string_view type, std::string_view key, int64_t elements, bool legacy = false) {
    mark().text("storage").global("torch", type).text(key).text("cpu").integer(elements);
    if (legacy) none();
    return op('t').op('Q');
  }
  // Writes the remaining arguments of _rebuild_tensor_v2 and the call. It must follow storage().
  PickleWriter& end_tensor(int64_t offset, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
    integer(offset).tuple(shape).tuple(strides).boolean(false);
    return global("collections", "OrderedDict").op(')').reduce().op('t').reduce();
  }
  PickleWriter& begin_tensor() { return global("torch._utils", "_rebuild_tensor_v2").mark(); }
  std::string stop() { return bytes_ + '.'; }

 private:
  std::string bytes_;
};

}  // namespace linformer_test
