#include "text/normal_forms.h"

#include <algorithm>

#include "text/normal_unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Appends the run (a character and the marks after it) to the changes in canonical order, and empties the run.
bool emit_run(NormalizedText* normalized) {
  auto& run = normalized->run;
  bool ordered = true;
  for (size_t i = 1; i < run.size(); ++i) ordered = ordered && run[i - 1].combining_class <= run[i].combining_class;
  // Sorts by one pass for each combining class. An insertion sort would be quadratic in a hostile run of marks.
  for (int wanted = 0; wanted < 256; ++wanted) {
    for (const auto& part : run) {
      if (!ordered && part.combining_class != wanted) continue;
      if (!push_change(part.code_point, part.added ? 1 : 0, normalized)) return false;
    }
    if (ordered) break;
  }
  run.clear();
  return true;
}

bool decompose_all(bool compatibility, NormalizedText* normalized) {
  auto& run = normalized->run;
  run.clear();
  normalized->changes.clear();
  for (const auto& character : normalized->characters) {
    uint32_t parts[max_decomposition];
    const size_t count =
        compatibility ? decompose_compatibly(character.code_point, parts) : decompose(character.code_point, parts);
    for (size_t i = 0; i < count; ++i) {
      const auto marks = static_cast<uint8_t>(combining_class(parts[i]));
      if (marks == 0 && !emit_run(normalized)) return false;
      if (!run.try_push({parts[i], marks, i > 0})) return false;
    }
  }
  return emit_run(normalized);
}

// Composes each starter with the characters after it that aren't blocked (as Unicode defines both terms), in place.
void compose_all(NormalizedText* normalized) {
  auto& changes = normalized->changes;
  constexpr size_t nowhere = SIZE_MAX;
  size_t kept = 0, starter = nowhere;
  int last_class = -1;  // The class of the last mark that stays after the starter; -1 if there is none.
  for (size_t i = 0; i < changes.size(); ++i) {
    const NormalizedText::Change change = changes[i];
    const int marks = combining_class(change.code_point);
    if (starter != nowhere && last_class < marks) {
      if (const uint32_t whole = compose(changes[starter].code_point, change.code_point); whole != 0) {
        changes[starter] = {whole, changes[starter].change + change.change - 1};
        continue;
      }
    }
    if (marks == 0) {
      starter = kept;
      last_class = -1;
    } else if (starter != nowhere) {
      last_class = marks;
    }
    changes[kept++] = change;
  }
  changes.truncate(kept);
}

}  // namespace

bool push_change(uint32_t code_point, int32_t change, NormalizedText* normalized) {
  if (normalized->changes.size() >= normalized->limit) {
    normalized->too_long = true;
    return false;
  }
  return normalized->changes.try_push({code_point, change});
}

bool compute_normal_form(bool compatibility, bool composed, NormalizedText* normalized) {
  if (!decompose_all(compatibility, normalized)) return false;
  if (composed) compose_all(normalized);
  return true;
}

bool apply_changes(NormalizedText* normalized) {
  const auto& characters = normalized->characters;
  auto& kept = normalized->kept;
  kept.clear();
  if (!kept.try_reserve(normalized->changes.size())) return false;
  size_t consumed = 0;
  for (const auto& change : normalized->changes) {
    const size_t source = change.change > 0 ? std::max<size_t>(consumed, 1) - 1 : consumed;
    if (change.change <= 0) consumed += 1 + static_cast<size_t>(-change.change);
    if (!kept.try_push({change.code_point, characters[std::min(source, characters.size() - 1)].origin})) return false;
  }
  std::swap(normalized->characters, kept);
  return true;
}

}  // namespace LINFORMER_NAMESPACE
