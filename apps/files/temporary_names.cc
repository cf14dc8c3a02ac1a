#include "files/temporary_names.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

#include "files/write_error.h"

namespace linformer::files {
namespace {

// Static memory: a handler may run in any thread while another one is just leaving an object.
struct Slot {
  std::atomic<bool> taken = false, armed = false;
  char path[PATH_MAX] = {};
};

std::array<Slot, 8> slots;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads it");

void remove_all(int number) {
  remove_temporary_files();
  // The signal's usual course, once this handler is left.
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void handle_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0) continue;
    if (action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_all;
    ::sigaction(number, &action, nullptr);
  }
}

}  // namespace

void remove_temporary_files() {
  const int error = errno;
  for (const Slot& slot : slots) {
    if (slot.armed.load()) ::unlink(slot.path);
  }
  errno = error;
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
  if (path.size() >= sizeof slot.path) return;  // the system refuses to open such a path
  std::memcpy(slot.path, path.c_str(), path.size() + 1);
  handle_signals();
  slot.armed = true;
}

void TemporaryName::clear() { slots[static_cast<size_t>(slot_)].armed = false; }

}  // namespace linformer::files
