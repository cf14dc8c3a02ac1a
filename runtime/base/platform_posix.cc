// Implements platform.h on POSIX, with the parts that are particular to Linux and macOS.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/platform.h"
#include "base/process.h"

#if defined(__linux__)
#include <sys/syscall.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif
#elif defined(__APPLE__)
#include <sys/random.h>
#include <sys/sysctl.h>
#endif

namespace LINFORMER_NAMESPACE::platform {
namespace {

int descriptor_of(File file) { return static_cast<int>(file.handle); }

Failure last_failure() { return {errno}; }

// These two accept the result of either form of strerror_r(): GNU's returns the message, which may be static text;
// POSIX's fills the buffer and returns a number.
[[maybe_unused]] void copy_message(const char* message, Failure::Text* text) {
  if (message != text->words) std::strncpy(text->words, message, sizeof text->words - 1);
}
[[maybe_unused]] void copy_message(int, Failure::Text*) {}

uint64_t page_size() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

bool Failure::out_of_memory() const { return number == ENOMEM; }

Failure::Text Failure::text() const {
  // strerror() isn't used because all threads share its buffer, nor strerrordesc_np(), which only glibc has.
  Text text;
  copy_message(::strerror_r(number, text.words, sizeof text.words), &text);
  return text;
}

Failure open_file(const char* path, File* file) {
  // With O_NONBLOCK, opening a FIFO that has no writer doesn't wait.
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return last_failure();
  file->handle = descriptor;
  return {};
}

void close_file(File file) { ::close(descriptor_of(file)); }

File file_of_descriptor(int descriptor) { return {descriptor}; }

Failure facts_of(File file, FileFacts* facts) {
  struct stat found {};
  if (::fstat(descriptor_of(file), &found) != 0) return last_failure();
  facts->kind = S_ISREG(found.st_mode) ? FileKind::regular : FileKind::other;
  facts->size = found.st_size > 0 ? static_cast<uint64_t>(found.st_size) : 0;
  return {};
}

Failure read_at(File file, uint64_t offset, void* to, size_t bytes, size_t* count) {
  // Some systems refuse to read more than 2 GiB at once. Callers call again until they have all bytes.
  bytes = std::min(bytes, size_t{1} << 30);
  for (;;) {
    const ssize_t done = ::pread(descriptor_of(file), to, bytes, static_cast<off_t>(offset));
    if (done >= 0) {
      *count = static_cast<size_t>(done);
      return {};
    }
    if (errno != EINTR) return last_failure();
  }
}

uint64_t mapping_granularity() { return page_size(); }

Failure map_file(File file, uint64_t offset, size_t bytes, Pages* pages) {
  void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor_of(file), static_cast<off_t>(offset));
  if (address == MAP_FAILED) return last_failure();
  *pages = {static_cast<std::byte*>(address), bytes, true};
  return {};
}

Pages reserve_pages(uint64_t bytes) {
  if (bytes > PTRDIFF_MAX) return {};
  const size_t size = static_cast<size_t>(bytes);
  void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return {};
  return {static_cast<std::byte*>(address), size, false};
}

void release_pages(const Pages& pages) {
  if (pages.data != nullptr) ::munmap(pages.data, pages.size);
}

uint64_t touched_bytes(std::byte* begin, uint64_t bytes) {
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__)
  using Residency = char;
#else
  using Residency = unsigned char;
#endif
  constexpr uint64_t pages_at_once = 1024;
  Residency resident[pages_at_once];
  const uint64_t page = page_size();
  uint64_t touched = 0;
  for (uint64_t offset = 0; offset < bytes; offset += pages_at_once * page) {
    const uint64_t left = bytes - offset;
    const uint64_t asked = left < pages_at_once * page ? left : pages_at_once * page;
    if (::mincore(begin + offset, static_cast<size_t>(asked), resident) != 0) return 0;
    for (uint64_t i = 0; i * page < asked; ++i) {
      if ((resident[i] & 1) != 0) touched = offset + (i + 1) * page;
    }
  }
  return touched < bytes ? touched : bytes;
}

bool has_address_space(uint64_t bytes) {
  rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
#if defined(MAP_NORESERVE)
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
  const size_t size = bytes < SIZE_MAX ? static_cast<size_t>(bytes) : SIZE_MAX;
  void* space = ::mmap(nullptr, size, PROT_NONE, flags, -1, 0);
  if (space == MAP_FAILED) return false;
  ::munmap(space, size);
  return true;
}

namespace {

void* thread_main(void* argument) {
  const Thread* thread = static_cast<const Thread*>(argument);
  thread->function(thread->argument);
  return nullptr;
}

}  // namespace

bool start_thread(void (*function)(void*), void* argument, Thread* thread) {
  pthread_t started;
  static_assert(sizeof started <= sizeof thread->handle, "pthread_t is a number or an address");
  thread->function = function;
  thread->argument = argument;
  if (::pthread_create(&started, nullptr, &thread_main, thread) != 0) return false;
  std::memcpy(&thread->handle, &started, sizeof started);
  return true;
}

void join_thread(Thread* thread) {
  pthread_t started;
  std::memcpy(&started, &thread->handle, sizeof started);
  ::pthread_join(started, nullptr);
}

int64_t process_id() { return ::getpid(); }

int usable_processors() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online > 1 ? static_cast<int>(online) : 1;
}

#if defined(__linux__) && defined(SYS_futex) && !defined(LINFORMER_WAIT_BY_MUTEX)

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel reads the word itself");

namespace {

// Values of linux/futex.h. "private" means that no other process shares the word.
constexpr int futex_wait_private = 128, futex_wake_private = 129;

}  // namespace

// Linux executes a full memory barrier before FUTEX_WAIT compares the word, and another one in FUTEX_WAKE
// (kernel/futex/waitwake.c). So if FUTEX_WAKE doesn't see a thread that is about to wait, this thread hasn't compared
// the word yet, and will see its new value.
void wait_while(const std::atomic<uint32_t>& word, uint32_t old) {
  ::syscall(SYS_futex, &word, futex_wait_private, old, nullptr, nullptr, 0);
}

void wake_all(const std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, futex_wake_private, INT32_MAX, nullptr, nullptr, 0);
}

#else

namespace {

// A word's queue is chosen by the word's address, so several words may share a queue. A thread that is woken for
// another word returns from wait_while(), whose callers look at their word again. Queues have neither constructor nor
// destructor, because threads may still wait while the process ends.
struct Queue {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
};
constexpr size_t queue_count = 16;
#define LINFORMER_QUEUE \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER }
#define LINFORMER_QUEUES LINFORMER_QUEUE, LINFORMER_QUEUE, LINFORMER_QUEUE, LINFORMER_QUEUE
Queue queues[queue_count] = {LINFORMER_QUEUES, LINFORMER_QUEUES, LINFORMER_QUEUES, LINFORMER_QUEUES};
#undef LINFORMER_QUEUES
#undef LINFORMER_QUEUE

Queue& queue_of(const std::atomic<uint32_t>& word) {
  const uint64_t address = reinterpret_cast<uintptr_t>(&word);
  return queues[address * 0x9E3779B97F4A7C15u >> 60];
}

}  // namespace

void wait_while(const std::atomic<uint32_t>& word, uint32_t old) {
  Queue& queue = queue_of(word);
  ::pthread_mutex_lock(&queue.mutex);
  if (word.load(std::memory_order_seq_cst) == old) ::pthread_cond_wait(&queue.changed, &queue.mutex);
  ::pthread_mutex_unlock(&queue.mutex);
}

// The word was changed before this call, so no waiter can be missed: a waiter that compared the word before the change
// held the mutex until it slept, and is woken; any other waiter sees the change.
void wake_all(const std::atomic<uint32_t>& word) {
  Queue& queue = queue_of(word);
  ::pthread_mutex_lock(&queue.mutex);
  ::pthread_cond_broadcast(&queue.changed);
  ::pthread_mutex_unlock(&queue.mutex);
}

#endif

bool fill_random(void* to, size_t bytes) { return ::getentropy(to, bytes) == 0; }

double seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool request_amx_tiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

ArmFeatures arm_features() {
#if defined(__aarch64__) && defined(__linux__)
  // Bits that the kernel's asm/hwcap.h defines. They are written as numbers, because older headers lack the last two.
  const unsigned long first = ::getauxval(AT_HWCAP), second = ::getauxval(AT_HWCAP2);
  return {(first & 1ul << 20) != 0, (second & 1ul << 13) != 0, (second & 1ul << 14) != 0};
#elif defined(__aarch64__) && defined(__APPLE__)
  const auto has = [](const char* name) {
    int value = 0;
    size_t size = sizeof value;
    return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
  };
  return {has("hw.optional.arm.FEAT_DotProd"), has("hw.optional.arm.FEAT_I8MM"), has("hw.optional.arm.FEAT_BF16")};
#else
  return {};
#endif
}

}  // namespace LINFORMER_NAMESPACE::platform
