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
  // What one byte of structure adds to the limits. Structure is the bytes of a pickle, a header, a JSON text or a
  // vocabulary, but not the data of tensors.
  static constexpr uint64_t memory_per_byte = 128;  // In bytes. One byte of a pickle can make a value of 100 bytes.
  static constexpr uint64_t steps_per_byte = 128;   // A step visits one value, name or rule.
  // How many bytes of tensors one byte of a file adds to the limit. Tensors may overlap. Tensors that are the same part
  // of one storage, as in models that share weights, count once.
  static constexpr uint64_t tensors_per_byte = 64;
  // How often the data of the tensors may be read, on average over all of them. Tensors are read to hash them, to
  // compare them with others and to write them.
  static constexpr uint64_t reads_per_tensor = 16;
  // The limits before any byte is admitted.
  static constexpr uint64_t free_memory = 1u << 20, free_steps = 1u << 20, free_tensors = 1u << 16,
                            free_reads = 1u << 20;

  // The functions below admit bytes. The first raises the limits of memory and steps for bytes of structure, and the
  // second raises the limit of tensors for the bytes of a file that holds tensors.
  void raise_limits(uint64_t structure_bytes);
  void raise_tensor_limit(uint64_t file_bytes);

  // Sets a fixed limit on the memory that may be charged, in addition to the one in proportion to the admitted bytes. 0
  // stands for no fixed limit.
  void limit_memory(uint64_t bytes) { most_memory_ = bytes == 0 ? UINT64_MAX : bytes; }

  // Each function below adds to an amount that was used, and throws Error if the amount then exceeds its limit.
  // charge_tensor() also raises the limit of charge_read(), because the data of a tensor may be read several times.
  void charge_memory(uint64_t bytes) {
    if (!memory_.charge(bytes) || memory_.used > most_memory_) fail_memory();
  }
  void charge_steps(uint64_t steps) {
    if (!steps_.charge(steps)) fail_steps();
  }
  void charge_tensor(uint64_t bytes) {
    if (!tensors_.charge(bytes)) fail_tensors();
    reads_.limit += reads_per_tensor * bytes;
  }
  // Charges for reading bytes of tensors' data.
  void charge_read(uint64_t bytes) {
    if (!reads_.charge(bytes)) fail_reads();
  }

  // The functions below return the amounts that were admitted and charged so far.
  uint64_t structure_bytes() const { return structure_bytes_; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t charged_memory() const { return memory_.used; }
  uint64_t charged_steps() const { return steps_.used; }
  uint64_t charged_reads() const { return reads_.used; }

 private:
  struct Account {
    uint64_t limit, used = 0;
    bool charge(uint64_t amount) {
      if (amount > limit - used) return false;
      used += amount;
      return true;
    }
  };
  [[noreturn]] void fail_memory() const;
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_tensors() const;
  [[noreturn]] void fail_reads() const;

  uint64_t structure_bytes_ = 0, file_bytes_ = 0, most_memory_ = UINT64_MAX;
  Account memory_{free_memory}, steps_{free_steps}, tensors_{free_tensors}, reads_{free_reads};
};

}  // namespace linformer::convert
