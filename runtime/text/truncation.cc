#include "text/truncation.h"

#include <algorithm>

namespace LINFORMER_NAMESPACE {

Status truncate_lengths(Truncation truncation, size_t room, bool pair, bool first_is_shorter, size_t* lengths) {
  const size_t total = lengths[0] + (pair ? lengths[1] : 0);
  if (truncation == Truncation::none || total <= room) return {};
  if (room == 0) {
    lengths[0] = 0;
    if (pair) lengths[1] = 0;
    return {};
  }
  if (truncation == Truncation::longest_first) {
    if (!pair) {
      lengths[0] = room;
      return {};
    }
    size_t& shorter = lengths[first_is_shorter ? 0 : 1];
    size_t& longer = lengths[first_is_shorter ? 1 : 0];
    if (shorter <= room / 2) {
      longer = room - shorter;
    } else {
      shorter = room / 2;
      longer = room - shorter;
    }
    return {};
  }
  if (truncation == Truncation::only_second && !pair) {
    return Status::error(Code::invalid_argument, "truncation is only_second, but there is only one text");
  }
  size_t& target = lengths[truncation == Truncation::only_first ? 0 : 1];
  const size_t excess = total - room;
  if (target <= excess) {
    return Status::error(Code::invalid_argument,
                         "the %s text has %zu tokens, too few to remove %zu: choose longest-first truncation",
                         truncation == Truncation::only_first ? "first" : "second", target, excess);
  }
  target -= excess;
  return {};
}

}  // namespace LINFORMER_NAMESPACE
