#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "files/temporary_names.h"
#include "input_files/lost_file.h"

namespace linformer::files {

// An entry of a list that the signal handler may read at any time in any thread, so entries are reused and never freed.
struct TruncationGuard::Mapping {
  std::atomic<uintptr_t> begin = 0, end = 0;  // An unused entry has end = 0.
  FinalMessage message;                       // Changes only while the entry is unused.
  Mapping* next = nullptr;
};

namespace {

FinalMessage line_on_standard_error(const std::string& sentence) { return {"", sentence + "\n"}; }

FinalMessage (*format_message)(const std::string& sentence) = line_on_standard_error;

}  // namespace

struct Mappings {
  static std::atomic<TruncationGuard::Mapping*> first;
  static std::mutex changes;
  static struct sigaction before;  // The action for SIGBUS before the handler was installed.

  static void write_all(int descriptor, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
      if (written < 0 && errno != EINTR) return;
      if (written > 0) done += static_cast<size_t>(written);
    }
  }

  // The handler of SIGBUS. It calls only functions that POSIX allows in signal handlers.
  static void handle(int number, siginfo_t* info, void*) {
    const auto place = reinterpret_cast<uintptr_t>(info->si_addr);
    // si_addr is the address of a lost page only if si_code is BUS_ADRERR. A signal from another process has no
    // address.
    const TruncationGuard::Mapping* lost = info->si_code == BUS_ADRERR ? first.load() : nullptr;
    while (lost != nullptr && (place < lost->begin.load() || place >= lost->end.load())) lost = lost->next;
    if (lost == nullptr) {
      // Restores the earlier action. If an instruction faulted, it is repeated after this handler returns and raises
      // SIGBUS again. A signal that a process sent is not repeated by itself, so it is raised again here.
      ::sigaction(number, &before, nullptr);
      if (info->si_code <= 0) ::raise(number);
      return;
    }
    static std::atomic<bool> ending = false;
    while (ending.exchange(true)) ::pause();  // Another thread is already ending the process.
    remove_temporary_files();
    write_all(STDOUT_FILENO, lost->message.output);
    write_all(STDERR_FILENO, lost->message.error);
    ::_exit(1);
  }
};

std::atomic<TruncationGuard::Mapping*> Mappings::first = nullptr;
std::mutex Mappings::changes;
struct sigaction Mappings::before = {};

void set_final_message(FinalMessage (*format)(const std::string& sentence)) { format_message = format; }

TruncationGuard::TruncationGuard(std::span<const std::byte> bytes, const std::string& path) {
  const std::lock_guard lock(Mappings::changes);
  static const bool handled = [] {
    struct sigaction action {};
    action.sa_sigaction = Mappings::handle;
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);  // Written without "::" because it is a macro on macOS.
    return ::sigaction(SIGBUS, &action, &Mappings::before) == 0;
  }();
  static_cast<void>(handled);
  mapping_ = Mappings::first.load();
  while (mapping_ != nullptr && mapping_->end.load() != 0) mapping_ = mapping_->next;
  const bool is_new = mapping_ == nullptr;
  if (is_new) mapping_ = new Mapping;
  mapping_->message =
      format_message(path +
                     " was truncated while it was being read: copy it again; to replace a file in use, rename "
                     "another file over it, or run with --no-mmap");
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  mapping_->begin = begin;
  mapping_->end = begin + bytes.size();
  if (!is_new) return;
  mapping_->next = Mappings::first.load();
  Mappings::first = mapping_;
}

TruncationGuard::~TruncationGuard() {
  const std::lock_guard lock(Mappings::changes);
  mapping_->end = 0;
}

}  // namespace linformer::files
