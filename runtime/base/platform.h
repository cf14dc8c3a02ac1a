// The interface to the operating system. platform_*.cc implement it, and no other file of the runtime includes a header
// of the system (tests/layers checks this). The header names no type of POSIX, so another system needs only another
// implementation. No function prints. Besides memory and open files, only start_thread(), join_thread(), open_library()
// and request_amx_tiles() change the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::platform {

// The system's number for an error; 0 if a call succeeded.
struct Failure {
  int number = 0;

  explicit operator bool() const { return number != 0; }
  bool out_of_memory() const;
  // The system's description of the error.
  struct Text {
    char words[128] = "unknown error";
  };
  Text text() const;
};

// --- Files

// An open file: a descriptor on POSIX, a handle on Windows.
struct File {
  intptr_t handle = -1;
};
enum class FileKind : uint8_t { regular, other };
struct FileFacts {
  FileKind kind = FileKind::other;
  uint64_t size = 0;
};

// Opens a file for reading. Programs that this process starts don't inherit it. Doesn't wait for the writer of a FIFO.
Failure open_file(const char* path, File* file);
void close_file(File file);
// Converts a file descriptor of the C library, which the user of this library opened.
File file_of_descriptor(int descriptor);
Failure facts_of(File file, FileFacts* facts);
// Reads up to `bytes` bytes at `offset`, and sets *count to the number of bytes read, which is 0 at the end of the
// file. The file position of the caller's descriptor doesn't move.
Failure read_at(File file, uint64_t offset, void* to, size_t bytes, size_t* count);

// --- Pages

// Memory that begins at a page: zeroed memory, or the bytes of a file.
struct Pages {
  std::byte* data = nullptr;
  size_t size = 0;
  bool of_file = false;  // Windows releases the two kinds in different ways.
};

// Returns the unit of mappings: a file can be mapped from an offset that is a multiple of it.
uint64_t mapping_granularity();
// Maps a part of a file for reading. `offset` is a multiple of mapping_granularity(). The file may be closed before the
// pages are released.
Failure map_file(File file, uint64_t offset, size_t bytes, Pages* pages);
// Reserves zeroed memory. The system provides memory for a page when the page is first touched. `data` is null if the
// system refuses.
Pages reserve_pages(uint64_t bytes);
void release_pages(const Pages& pages);
// Returns the number of bytes from `begin`, the beginning of a page, to the end of the last page that has memory; at
// most `bytes`. Returns 0 if the system can't tell.
uint64_t touched_bytes(std::byte* begin, uint64_t bytes);
// Returns false if a limit of the process's address space (ulimit -v) leaves less than `bytes` bytes. On Windows,
// returns whether so much address space can be reserved.
bool has_address_space(uint64_t bytes);

// --- Threads

// A thread that start_thread() started. The object must stay at its address until join_thread() has returned.
struct Thread {
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
  uintptr_t handle = 0;
};

// Returns false if the system refuses another thread.
bool start_thread(void (*function)(void*), void* argument, Thread* thread);
void join_thread(Thread* thread);
// Returns the number of processors that this process may use; at least 1.
int usable_processors();

// Sleeps while `word` is `old`, until wake_all() is called for the same word. May also return earlier (a spurious
// wake-up). Allocates nothing. The comparison follows everything that the thread did before, in the single total order
// of memory_order_seq_cst operations. Therefore: if one thread writes A (seq_cst) and then waits, and another thread
// changes the word (seq_cst) and then reads A (seq_cst), either the second thread reads the new A, or the wait sees the
// changed word. A thread that counts the waiting threads in this way needs no wake_all() if the count is 0.
void wait_while(const std::atomic<uint32_t>& word, uint32_t old);
// Ends all waits for `word` that began before the call.
void wake_all(const std::atomic<uint32_t>& word);

// --- Others

// Fills `to` with numbers that can't be guessed. Returns false if the system has none.
bool fill_random(void* to, size_t bytes);
// Returns the seconds since an arbitrary point in time. The clock never goes back.
double seconds_now();

// The registers that the instruction CPUID sets.
struct CpuId {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
// Executes CPUID. Returns false if the processor has no such leaf. Exists on x86-64 only, as does os_saved_registers().
bool cpuid(uint32_t leaf, uint32_t subleaf, CpuId* answer);
// Returns the lower half of XCR0: a bit for each kind of registers that the system saves when it switches threads. May
// be called only if CPUID reports OSXSAVE.
uint32_t os_saved_registers();
// Asks the system to let this process use AMX's tiles, and returns whether it does. Linux saves the tiles only for
// processes that have asked.
bool request_amx_tiles();
// The extensions that the system reports for an aarch64 processor. All are false on other processors.
struct ArmFeatures {
  bool dotprod = false, i8mm = false, bf16 = false;
};
ArmFeatures arm_features();

// Opens a shared library; returns null if it can't be opened. The library's symbols don't replace symbols of the
// process. This and the next two functions exist only in builds with backends that are opened at run time.
void* open_library(const char* file);
// Returns why the last open_library() of this thread failed; null if the system doesn't say.
const char* open_library_error();
// Returns null if neither the library nor the libraries that it loaded have the symbol.
void* find_symbol(void* library, const char* name);

}  // namespace LINFORMER_NAMESPACE::platform
