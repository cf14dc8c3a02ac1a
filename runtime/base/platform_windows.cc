// Implements platform.h on Windows. Paths are UTF-8, and are converted to UTF-16 for calls of the system.
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#define PSAPI_VERSION 2  // QueryWorkingSetEx() then comes from a library that every program links.
#include <windows.h>
//
#include <io.h>
#include <psapi.h>
#include <stdlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "base/platform.h"
#include "base/platform_windows_path.h"
#include "base/process.h"

namespace LINFORMER_NAMESPACE::platform {
namespace {

HANDLE handle_of(File file) { return reinterpret_cast<HANDLE>(file.handle); }

Failure last_failure() { return {static_cast<int>(::GetLastError())}; }

uint64_t joined(DWORD high, DWORD low) { return uint64_t{high} << 32 | low; }

HANDLE thread_of(const Thread& thread) { return reinterpret_cast<HANDLE>(thread.handle); }

SYSTEM_INFO system_info() {
  SYSTEM_INFO info{};
  ::GetSystemInfo(&info);
  return info;
}

}  // namespace

bool WidePath::set(const char* path) {
  return ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, text, static_cast<int>(std::size(text))) != 0;
}

bool Failure::out_of_memory() const {
  return number == ERROR_NOT_ENOUGH_MEMORY || number == ERROR_OUTOFMEMORY || number == ERROR_COMMITMENT_LIMIT;
}

Failure::Text Failure::text() const {
  Text text;
  wchar_t wide[sizeof text.words];
  constexpr DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  DWORD length = ::FormatMessageW(flags, nullptr, static_cast<DWORD>(number), 0, wide, std::size(wide), nullptr);
  // The system's messages end with a full stop and a line end, which are removed.
  while (length > 0 && (wide[length - 1] <= L' ' || wide[length - 1] == L'.')) --length;
  if (length == 0) return text;
  char words[sizeof text.words];
  const int bytes =
      ::WideCharToMultiByte(CP_UTF8, 0, wide, static_cast<int>(length), words, sizeof words - 1, nullptr, nullptr);
  if (bytes <= 0) return text;
  words[bytes] = '\0';
  std::memcpy(text.words, words, static_cast<size_t>(bytes) + 1);
  return text;
}

Failure open_file(const char* path, File* file) {
  WidePath wide;
  if (!wide.set(path)) return last_failure();
  // With FILE_FLAG_BACKUP_SEMANTICS folders are opened too, and facts_of() can report that they aren't files. The share
  // flags let other programs write, replace or delete the file while it is open.
  const HANDLE handle = ::CreateFileW(wide.text, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                      nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return last_failure();
  file->handle = reinterpret_cast<intptr_t>(handle);
  return {};
}

void close_file(File file) { ::CloseHandle(handle_of(file)); }

File file_of_descriptor(int descriptor) { return {::_get_osfhandle(descriptor)}; }

Failure facts_of(File file, FileFacts* facts) {
  if (::GetFileType(handle_of(file)) != FILE_TYPE_DISK) {
    facts->kind = FileKind::other;
    facts->size = 0;
    return {};
  }
  BY_HANDLE_FILE_INFORMATION found{};
  if (::GetFileInformationByHandle(handle_of(file), &found) == 0) return last_failure();
  const bool folder = (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  facts->kind = folder ? FileKind::other : FileKind::regular;
  facts->size = folder ? 0 : joined(found.nFileSizeHigh, found.nFileSizeLow);
  return {};
}

Failure read_at(File file, uint64_t offset, void* to, size_t bytes, size_t* count) {
  // On Windows a read at an offset moves the position of the handle, which a descriptor of the caller may share.
  const LARGE_INTEGER none{};
  LARGE_INTEGER position{};
  const bool positioned = ::SetFilePointerEx(handle_of(file), none, &position, FILE_CURRENT) != 0;
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD done = 0;
  const DWORD asked = static_cast<DWORD>(std::min(bytes, size_t{1} << 30));
  const bool read = ::ReadFile(handle_of(file), to, asked, &done, &place) != 0;
  const Failure failure = read ? Failure{} : last_failure();
  if (positioned) ::SetFilePointerEx(handle_of(file), position, nullptr, FILE_BEGIN);
  *count = done;
  return failure.number == ERROR_HANDLE_EOF ? Failure{} : failure;
}

uint64_t mapping_granularity() { return system_info().dwAllocationGranularity; }

Failure map_file(File file, uint64_t offset, size_t bytes, Pages* pages) {
  const HANDLE mapping = ::CreateFileMappingW(handle_of(file), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) return last_failure();
  void* address =
      ::MapViewOfFile(mapping, FILE_MAP_READ, static_cast<DWORD>(offset >> 32), static_cast<DWORD>(offset), bytes);
  const Failure failure = address == nullptr ? last_failure() : Failure{};
  ::CloseHandle(mapping);  // The view keeps the mapping alive.
  if (address != nullptr) *pages = {static_cast<std::byte*>(address), bytes, true};
  return failure;
}

Pages reserve_pages(uint64_t bytes) {
  if (bytes > PTRDIFF_MAX) return {};
  const size_t size = static_cast<size_t>(bytes);
  void* address = ::VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (address == nullptr) return {};
  return {static_cast<std::byte*>(address), size, false};
}

void release_pages(const Pages& pages) {
  if (pages.data == nullptr) return;
  if (pages.of_file) {
    ::UnmapViewOfFile(pages.data);
  } else {
    ::VirtualFree(pages.data, 0, MEM_RELEASE);
  }
}

uint64_t touched_bytes(std::byte* begin, uint64_t bytes) {
  constexpr uint64_t pages_at_once = 256;
  PSAPI_WORKING_SET_EX_INFORMATION resident[pages_at_once];
  const uint64_t page = system_info().dwPageSize;
  uint64_t touched = 0;
  for (uint64_t offset = 0; offset < bytes; offset += pages_at_once * page) {
    const uint64_t pages = std::min((bytes - offset + page - 1) / page, pages_at_once);
    for (uint64_t i = 0; i < pages; ++i) resident[i].VirtualAddress = begin + offset + i * page;
    const DWORD size = static_cast<DWORD>(pages * sizeof resident[0]);
    if (::QueryWorkingSetEx(::GetCurrentProcess(), resident, size) == 0) return 0;
    for (uint64_t i = 0; i < pages; ++i) {
      if (resident[i].VirtualAttributes.Valid != 0) touched = offset + (i + 1) * page;
    }
  }
  return std::min(touched, bytes);
}

bool has_address_space(uint64_t bytes) {
  const size_t size = bytes < SIZE_MAX ? static_cast<size_t>(bytes) : SIZE_MAX;
  void* space = ::VirtualAlloc(nullptr, size, MEM_RESERVE, PAGE_NOACCESS);
  if (space == nullptr) return false;
  ::VirtualFree(space, 0, MEM_RELEASE);
  return true;
}

namespace {

DWORD WINAPI thread_main(void* argument) {
  const Thread* thread = static_cast<const Thread*>(argument);
  thread->function(thread->argument);
  return 0;
}

}  // namespace

bool start_thread(void (*function)(void*), void* argument, Thread* thread) {
  thread->function = function;
  thread->argument = argument;
  const HANDLE started = ::CreateThread(nullptr, 0, &thread_main, thread, 0, nullptr);
  if (started == nullptr) return false;
  thread->handle = reinterpret_cast<uintptr_t>(started);
  return true;
}

void join_thread(Thread* thread) {
  ::WaitForSingleObject(thread_of(*thread), INFINITE);
  ::CloseHandle(thread_of(*thread));
}

int64_t process_id() { return ::GetCurrentProcessId(); }

int usable_processors() {
  DWORD_PTR allowed = 0, present = 0;
  // The masks cover one group of at most 64 processors. A process whose affinity isn't restricted may use the
  // processors of all groups.
  if (::GetProcessAffinityMask(::GetCurrentProcess(), &allowed, &present) != 0 && allowed != present && allowed != 0) {
    return std::popcount(static_cast<uint64_t>(allowed));
  }
  return std::max(static_cast<int>(::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS)), 1);
}

namespace {

// A word's queue is chosen by the word's address, so several words may share a queue. A thread that is woken for
// another word returns from wait_while(), whose callers look at their word again. Queues have neither constructor nor
// destructor, because threads may still wait while the process ends. WaitOnAddress() isn't used because it would need
// another library.
struct Queue {
  SRWLOCK lock;
  CONDITION_VARIABLE changed;
};
Queue queues[16];  // All bytes are zero, which equals SRWLOCK_INIT and CONDITION_VARIABLE_INIT.

Queue& queue_of(const std::atomic<uint32_t>& word) {
  const uint64_t address = reinterpret_cast<uintptr_t>(&word);
  return queues[address * 0x9E3779B97F4A7C15u >> 60];
}

}  // namespace

void wait_while(const std::atomic<uint32_t>& word, uint32_t old) {
  Queue& queue = queue_of(word);
  ::AcquireSRWLockExclusive(&queue.lock);
  if (word.load(std::memory_order_seq_cst) == old) {
    ::SleepConditionVariableSRW(&queue.changed, &queue.lock, INFINITE, 0);
  }
  ::ReleaseSRWLockExclusive(&queue.lock);
}

// The word was changed before this call, so no waiter can be missed: a waiter that compared the word before the change
// held the lock until it slept, and is woken; any other waiter sees the change.
void wake_all(const std::atomic<uint32_t>& word) {
  Queue& queue = queue_of(word);
  ::AcquireSRWLockExclusive(&queue.lock);
  ::WakeAllConditionVariable(&queue.changed);
  ::ReleaseSRWLockExclusive(&queue.lock);
}

bool fill_random(void* to, size_t bytes) {
  auto* place = static_cast<unsigned char*>(to);
  while (bytes > 0) {
    unsigned int number = 0;
    if (::rand_s(&number) != 0) return false;
    const size_t part = std::min(bytes, sizeof number);
    std::memcpy(place, &number, part);
    place += part;
    bytes -= part;
  }
  return true;
}

double seconds_now() {
  LARGE_INTEGER now{}, frequency{};
  ::QueryPerformanceFrequency(&frequency);
  ::QueryPerformanceCounter(&now);
  return static_cast<double>(now.QuadPart) / static_cast<double>(frequency.QuadPart);
}

// Windows has a function for this permission, but it has never been tested with this runtime, so AMX isn't used on
// Windows.
bool request_amx_tiles() { return false; }

ArmFeatures arm_features() {
#if defined(__aarch64__) || defined(_M_ARM64)
  constexpr DWORD dot_products = 43;  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE, which older headers lack.
  ArmFeatures features;
  features.dotprod = ::IsProcessorFeaturePresent(dot_products) != 0;
  return features;
#else
  return {};
#endif
}

}  // namespace LINFORMER_NAMESPACE::platform
