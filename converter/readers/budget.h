// Limits the memory and time that a conversion may take, in proportion to the bytes of its inputs.
//
// Limits on single fields of a file would not limit the products of these fields. So a reader admits the bytes that it
// takes in, which raises the limits, and charges for memory, steps and reads. Valid files use a small part of their
// limits; only files that were made to exhaust the converter reach them.
#pragma once

#include <cstdint>

namespace linformer::convert {

// The limits of one input, or of several inputs that are read together, and what was charged. Not thread-safe.
class Budget {
 public:
  // What one byte of structure allows. Structure is the bytes of a pickle, a header, a JSON text or a vocabulary, but
  // not the data of tensors.
  static constexpr uint64_t memory_per_byte = 128;  // In bytes. A value takes about 100 bytes, an opcode 1 byte.
  static constexpr uint64_t steps_per_byte = 128;   // A step visits one value, name or rule.
  // How many bytes of tensors one byte of a file allows. Tensors may overlap. Tensors with exactly the same elements,
  // as in models that share weights, count once.
  static constexpr uint64_t tensors_per_byte = 64;
  // How often the data of a tensor may be read. Tensors are read to hash them, to compare them with others and to write
  // them.
  static constexpr uint64_t reads_per_tensor = 16;
  // What is allowed before any byte is admitted.
  static constexpr uint64_t free_memory = 1u << 20, free_steps = 1u << 20, free_tensors = 1u << 16,
                            free_reads = 1u << 20;

  void admit(uint64_t bytes);       // Admits bytes of structure.
  void admit_file(uint64_t bytes);  // Admits the bytes of a file that holds tensors.

  // Sets a fixed limit on the memory that may be charged, in addition to the one in proportion to the admitted bytes. 0
  // stands for no fixed limit.
  void limit_memory(uint64_t bytes) { most_memory_ = bytes == 0 ? UINT64_MAX : bytes; }

  // The functions below throw Error if the charge exceeds its limit.
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
  // Charges for reading bytes of tensors' data.
  void charge_read(uint64_t bytes) {
    if (!reads_.take(bytes)) fail_reads();
  }

  // The functions below return the amounts that were admitted and charged so far.
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
