// What a conversion may cost, in proportion to the bytes that it was given.
//
// Limits on single fields don't bound what their products ask for. So whoever takes bytes in admits them, and whoever
// makes something of them charges for it. Sound files use a small part; the multiples are what hostile ones may reach.
#pragma once

#include <cstdint>

namespace linformer::convert {

// Of one input, or of several that are read together. Not thread-safe.
class Budget {
 public:
  // What a byte of structure pays for: of a pickle, a header, a JSON text, a vocabulary, but not of tensors' data.
  static constexpr uint64_t memory_per_byte = 128;  // bytes of memory: one value takes about 100, one opcode 1
  static constexpr uint64_t steps_per_byte = 128;   // values, names and rules looked at
  // What a byte of a file pays for in tensors, which may overlap. Those with the very same elements, as models that
  // share weights have, count once.
  static constexpr uint64_t tensors_per_byte = 64;
  // How often a tensor may be read: to be hashed, compared with an equal one, found tied, written.
  static constexpr uint64_t reads_per_tensor = 16;
  // What the smallest input may cost.
  static constexpr uint64_t free_memory = 1u << 20, free_steps = 1u << 20, free_tensors = 1u << 16,
                            free_reads = 1u << 20;

  void admit(uint64_t bytes);       // of structure
  void admit_file(uint64_t bytes);  // of a file with tensors in it

  // What may be charged at most, however many bytes are admitted; 0: no such limit.
  void limit_memory(uint64_t bytes) { most_memory_ = bytes == 0 ? UINT64_MAX : bytes; }

  // Each throws Error once the account is overdrawn.
  void charge_memory(uint64_t bytes) {
    if (!memory_.take(bytes) || memory_.used > most_memory_) fail_memory();
  }
  void charge_steps(uint64_t steps) {
    if (!steps_.take(steps)) fail_steps();
  }
  void charge_tensor(uint64_t bytes) {
    if (!tensors_.take(bytes)) fail_tensors();
    reads_.limit += reads_per_tensor * bytes;
  }
  // Bytes of tensors' data.
  void charge_read(uint64_t bytes) {
    if (!reads_.take(bytes)) fail_reads();
  }

  // What was admitted and charged so far.
  uint64_t admitted() const { return admitted_; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t memory() const { return memory_.used; }
  uint64_t steps() const { return steps_.used; }
  uint64_t read() const { return reads_.used; }

 private:
  struct Account {
    uint64_t limit, used = 0;
    bool take(uint64_t amount) {
      if (amount > limit - used) return false;
      used += amount;
      return true;
    }
  };
  [[noreturn]] void fail_memory() const;
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_tensors() const;
  [[noreturn]] void fail_reads() const;

  uint64_t admitted_ = 0, file_bytes_ = 0, most_memory_ = UINT64_MAX;
  Account memory_{free_memory}, steps_{free_steps}, tensors_{free_tensors}, reads_{free_reads};
};

}  // namespace linformer::convert
