#include "files/interrupted.h"

#include <atomic>
#include <cstring>

#include "files/file_calls.h"
#include "system/descriptors.h"
#include "system/terminal.h"

namespace linformer::files {
namespace {

constexpr size_t uncounted = ~size_t{0};  // The value of both counts until the program counts its first records.
size_t counted = uncounted;
std::atomic<size_t> answered{uncounted};
static_assert(std::atomic<size_t>::is_always_lock_free, "a signal handler may not wait for a lock");

}  // namespace

void count_answers(size_t records) { counted = (counted == uncounted ? 0 : counted) + records; }

void mark_answers_written() { answered.store(counted, std::memory_order_relaxed); }

void report_interruption(bool unfinished) {
  size_t count = answered.load(std::memory_order_relaxed);
  if (count == uncounted) return;
  // A signal handler may not call the C library's formatting functions, so the sentence is put together by hand.
  char text[256];
  size_t length = 0;
  const auto add = [&](const char* part) {
    const size_t bytes = std::strlen(part);
    std::memcpy(text + length, part, bytes);
    length += bytes;
  };
  if (system::is_terminal(system::standard_error)) add("\r\033[K");  // Erases the progress line.
  add("linformer: interrupted after ");
  const bool one = count == 1;
  char digits[20];
  size_t places = 0;
  do digits[places++] = static_cast<char>('0' + count % 10);
  while ((count /= 10) > 0);
  while (places > 0) text[length++] = digits[--places];
  add(one ? " record was answered" : " records were answered");
  if (unfinished) add("; no output file was written");
  add("\n");
  if (write_some(system::standard_error, text, length) < 0) return;
}

}  // namespace linformer::files
