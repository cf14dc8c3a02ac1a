#include "input_files/lost_file.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "files/temporary_names.h"

namespace linformer::files {

// In a list whose entries are used again and never freed, as a handler may be reading it in any thread.
struct LostFile::Mapping {
  std::atomic<uintptr_t> begin = 0, end = 0;  // begin = end: unused
  LastWords words;                            // not touched while the range isn't empty
  Mapping* next = nullptr;
};

namespace {

LastWords line_on_standard_error(const std::string& sentence) { return {"", sentence + "\n"}; }

LastWords (*words_of)(const std::string& sentence) = line_on_standard_error;

}  // namespace

struct Mappings {
  static std::atomic<LostFile::Mapping*> first;
  static std::mutex changes;
  static struct sigaction before;  // what SIGBUS did

  static void write_all(int descriptor, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
      if (written < 0 && errno != EINTR) return;
      if (written > 0) done += static_cast<size_t>(written);
    }
  }

  // Calls only what POSIX lets a handler call.
  static void handle(int number, siginfo_t* info, void*) {
    const auto place = reinterpret_cast<uintptr_t>(info->si_addr);
    // A signal that another process sent has no place.
    const LostFile::Mapping* lost = info->si_code == BUS_ADRERR ? first.load() : nullptr;
    while (lost != nullptr && (place < lost->begin.load() || place >= lost->end.load())) lost = lost->next;
    if (lost == nullptr) {
      // Where an instruction faulted, it does so again once this handler is left.
      ::sigaction(number, &before, nullptr);
      if (info->si_code <= 0) ::raise(number);
      return;
    }
    static std::atomic<bool> ending = false;
    while (ending.exchange(true)) ::pause();  // another thread is at it
    remove_temporary_files();
    write_all(STDOUT_FILENO, lost->words.output);
    write_all(STDERR_FILENO, lost->words.error);
    ::_exit(1);
  }
};

std::atomic<LostFile::Mapping*> Mappings::first = nullptr;
std::mutex Mappings::changes;
struct sigaction Mappings::before = {};

void set_last_words(LastWords (*words)(const std::string& sentence)) { words_of = words; }

LostFile::LostFile(std::span<const std::byte> bytes, const std::string& path) {
  const std::lock_guard lock(Mappings::changes);
  static const bool handled = [] {
    struct sigaction action {};
    action.sa_sigaction = Mappings::handle;
    action.sa_flags = SA_SIGINFO;
    ::sigfillset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &Mappings::before) == 0;
  }();
  static_cast<void>(handled);
  mapping_ = Mappings::first.load();
  while (mapping_ != nullptr && mapping_->end.load() != 0) mapping_ = mapping_->next;
  const bool is_new = mapping_ == nullptr;
  if (is_new) mapping_ = new Mapping;
  mapping_->words = words_of(path +
                             " was truncated while it was being read: copy it again; to replace a file in use, rename "
                             "another over it, or run with --no-mmap");
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  mapping_->begin = begin;
  mapping_->end = begin + bytes.size();
  if (!is_new) return;
  mapping_->next = Mappings::first.load();
  Mappings::first = mapping_;
}

LostFile::~LostFile() {
  const std::lock_guard lock(Mappings::changes);
  mapping_->end = 0;
}

}  // namespace linformer::files
