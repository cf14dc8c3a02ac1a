// Pseudo-random choices of a mutator, which depend on libFuzzer's seed only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

// Mutates the bytes with one of libFuzzer's own mutations. Returns the new size, which is at most `most`.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace linformer_fuzz {

class Random {
 public:
  explicit Random(unsigned seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next() {  // The splitmix64 generator.
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  // Returns a number from 0 to `count` - 1. `count` must be positive.
  size_t below(size_t count) { return static_cast<size_t>(next() % count); }
  bool one_in(size_t count) { return below(count) == 0; }
  template <class List>
  auto& one_of(List& list) {
    return list[below(std::size(list))];
  }

 private:
  uint64_t state_;
};

// Returns a number that programs often handle badly: small, a power of two or next to it, or an end of the range.
inline uint64_t awkward_number(Random& random) {
  switch (random.below(5)) {
    case 0:
      return random.below(20);
    case 1:
      return uint64_t{1} << random.below(64);
    case 2:
      return (uint64_t{1} << random.below(64)) - 1;
    case 3:
      return ~uint64_t{0} - random.below(4);
    default:
      return random.next() >> random.below(64);
  }
}

// Alters `bytes` by one of libFuzzer's mutations, to at most `most` bytes.
inline void mutate_bytes(std::string* bytes, size_t most) {
  const size_t size = std::min(bytes->size(), most);
  bytes->resize(std::min(most, size + 128));
  bytes->resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes->data()), size, bytes->size()));
}

// Copies `changed` to `out` and returns its size, as libFuzzer expects of a mutator. Returns 0 and writes nothing if
// `changed` is empty or longer than `most`.
inline size_t store_mutation(const std::string& changed, uint8_t* out, size_t most) {
  if (changed.size() > most) return 0;
  std::copy(changed.begin(), changed.end(), out);
  return changed.size();
}

}  // namespace linformer_fuzz
