#include "fuzz/folder_mutation.h"

#include <algorithm>

using namespace linformer_fuzz;

// Alters or removes one part. In one of 50 calls, and if the result is longer than `most`, libFuzzer alters the bytes
// of the whole input instead.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  Random random(seed);
  Parts parts = split({data, size});
  if (parts.empty() || random.one_in(50)) return LLVMFuzzerMutate(data, size, most);
  if (random.one_in(30)) {
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(random.below(parts.size())));
  } else {
    FolderPart& part = random.one_of(parts);
    const size_t rest = size - std::min(size, part.content.size());
    part.content = altered_part(part, rest < most ? most - rest : 0, random);
  }
  const size_t stored = store_mutation(join(parts), data, most);
  return stored != 0 ? stored : LLVMFuzzerMutate(data, size, most);
}

// Copies about half of the second input's parts into the first input. A part replaces the part of the same name.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                            size_t second_size, uint8_t* out, size_t most, unsigned seed) {
  Random random(seed);
  Parts parts = split({first, first_size});
  for (const FolderPart& part : split({second, second_size})) {
    const auto same =
        std::find_if(parts.begin(), parts.end(), [&](const FolderPart& own) { return own.name == part.name; });
    if (random.one_in(2)) continue;
    if (same != parts.end()) {
      same->content = part.content;
    } else {
      parts.push_back(part);
    }
  }
  return store_mutation(join(parts), out, most);
}
