// Splits a text before a tokenizer's model reads it (Hugging Face's pre-tokenizers). Each step splits the parts that
// the step before it made.
#pragma once

#include <string_view>

#include "base/array.h"
#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A pattern is compared at each character, so its length bounds the work. The number of steps bounds the recursion.
inline constexpr size_t max_split_pattern_bytes = 256;
inline constexpr size_t max_splits = 16;

class Splitter {
 public:
  Status create(const TokenizerRules& rules);
  bool empty() const { return steps_.empty(); }

  // Calls part(begin, end) for the parts of text[begin, end), which is valid UTF-8, in order. Removed characters are in
  // no part. Stops and returns false as soon as one of the calls returns false. Each step reads a text a fixed number
  // of times.
  template <class Part>
  [[nodiscard]] bool split(std::string_view text, size_t begin, size_t end, Part part) const {
    const Receiver receiver = {
        &part, [](void* context, size_t first, size_t last) { return (*static_cast<Part*>(context))(first, last); }};
    return split_from_step(0, text, begin, end, receiver);
  }

 private:
  struct Receiver {
    void* part;
    bool (*call)(void* part, size_t begin, size_t end);
  };
  [[nodiscard]] bool split_from_step(size_t step, std::string_view text, size_t begin, size_t end,
                                     const Receiver& receiver) const;

  Array<SplitStep> steps_;
};

}  // namespace LINFORMER_NAMESPACE
