// Choices of a mutator, which follow from libFuzzer's seed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

// libFuzzer's own mutations, for parts of an input. Returns the new size, at most `most`.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace linformer_fuzz {

class Random {
 public:
  explicit Random(unsigned seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  // Below `count`, which is above 0.
  size_t below(size_t count) { return static_cast<size_t>(next() % count); }
  bool one_in(size_t count) { return below(count) == 0; }
  template <class List>
  auto& of(List& list) {
    return list[below(std::size(list))];
  }

 private:
  uint64_t state_;
};

// A number that programs handle badly: small, a power of two, beside one, or an end of the range.
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

// `bytes` after one of libFuzzer's mutations; at most `most` long.
inline void mutate_bytes(std::string* bytes, size_t most) {
  const size_t size = std::min(bytes->size(), most);
  bytes->resize(std::min(most, size + 128));
  bytes->resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes->data()), size, bytes->size()));
}

// What a mutator of libFuzzer gives back: `changed` in `out` and its size; 0, and nothing is written, where that is
// empty or longer than `most`.
inline size_t store(const std::string& changed, uint8_t* out, size_t most) {
  if (changed.size() > most) return 0;
  std::copy(changed.begin(), changed.end(), out);
  return changed.size();
}

}  // namespace linformer_fuzz
