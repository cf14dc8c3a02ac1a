#include "files/interrupted.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

namespace linformer::files {
namespace {

std::atomic<size_t> records{0};
static_assert(std::atomic<size_t>::is_always_lock_free, "a signal handler may not wait for a lock");

}  // namespace

void note_records(size_t count) { records.store(count, std::memory_order_relaxed); }

void report_interruption() {
  size_t count = records.load(std::memory_order_relaxed);
  if (count == 0) return;
  // Only what a signal handler may call: no formatting of the C library's.
  const char end[] = " records; no output file was changed\n";
  char text[256] = "linformer: interrupted after ";
  size_t length = std::strlen(text);
  char digits[20];
  size_t places = 0;
  for (; count > 0; count /= 10) digits[places++] = static_cast<char>('0' + count % 10);
  while (places > 0) text[length++] = digits[--places];
  std::memcpy(text + length, end, sizeof end - 1);
  length += sizeof end - 1;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (terminal && ::write(STDERR_FILENO, "\r\033[K", 4) < 0) return;  // over the progress
  if (::write(STDERR_FILENO, text, length) < 0) return;
}

}  // namespace linformer::files
