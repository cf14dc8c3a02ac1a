#include "converter/files/temporary_names.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "converter/files/file_calls.h"
#include "converter/files/write_error.h"

namespace linformer::files {
namespace {

constexpr size_t longest_path = 4096;  // In bytes: the longest path that Linux opens.

// A place for one name. The slots are in static memory because a signal handler may read them while another thread
// destroys a TemporaryName.
struct Slot {
  std::atomic<bool> taken = false, armed = false;
  char path[longest_path] = {};
};

std::array<Slot, 8> slots;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads the flags of slots");

}  // namespace

bool remove_temporary_files() {
  const int error = errno;
  bool any = false;
  for (const Slot& slot : slots) {
    if (!slot.armed.load()) continue;
    any = true;
    remove_file(slot.path);
  }
  errno = error;
  return any;
}

TemporaryName::TemporaryName() {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].taken.exchange(true)) continue;
    slot_ = static_cast<int>(i);
    return;
  }
  throw WriteError("more than " + std::to_string(slots.size()) + " files are being written at once");
}

TemporaryName::~TemporaryName() {
  clear();
  slots[static_cast<size_t>(slot_)].taken = false;
}

void TemporaryName::set(const std::string& path) {
  Slot& slot = slots[static_cast<size_t>(slot_)];
  slot.armed = false;
  if (path.size() >= sizeof slot.path) return;  // The file will not exist: Linux can't open such a long path.
  std::memcpy(slot.path, path.c_str(), path.size() + 1);
  slot.armed = true;
}

void TemporaryName::clear() { slots[static_cast<size_t>(slot_)].armed = false; }

}  // namespace linformer::files
