// Everything that the runtime needs from the operating system. platform_*.cc implement it; no other file of the
// runtime includes a header of the system (tests/layers). Nothing here names a type of POSIX, so that another system
// needs another implementation and no change above. Nothing prints, and nothing but the two functions for threads,
// open_library() and permit_tiles() changes the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::platform {

// Why the system refused something, by its own number; 0: it did not.
struct Failure {
  int number = 0;

  explicit operator bool() const { return number != 0; }
  bool out_of_memory() const;
  // The system's words for it.
  struct Text {
    char words[128] = "unknown error";
  };
  Text text() const;
};

// --- Files

// An open file: a descriptor, or what another system calls by a number or an address.
struct File {
  intptr_t handle = -1;
};
enum class FileKind : uint8_t { regular, other };
struct FileFacts {
  FileKind kind = FileKind::other;
  uint64_t size = 0;
};

// For reading, and not inherited by programs that are started. Doesn't wait for the writer of a FIFO.
Failure open_file(const char* path, File* file);
void close_file(File file);
// Of a file that the caller of the library opened, by the number that the C library gave it.
File file_of_descriptor(int descriptor);
Failure facts_of(File file, FileFacts* facts);
// Up to `bytes` bytes at `offset`; *count is 0 at the end of the file. Moves no position that others could see.
Failure read_at(File file, uint64_t offset, void* to, size_t bytes, size_t* count);

// --- Pages

// Memory in whole pages, zero or those of a file.
struct Pages {
  std::byte* data = nullptr;
  size_t size = 0;
  bool of_file = false;  // systems release the two kinds in different ways
};

// A file is mapped from a multiple of this.
uint64_t mapping_granularity();
// Read-only; `offset` is a multiple of mapping_granularity(). The file may be closed before the pages are released.
Failure map_file(File file, uint64_t offset, size_t bytes, Pages* pages);
// Zeroed; the system gives memory for a page when it is first touched. `data` is null where it refuses.
Pages reserve_pages(uint64_t bytes);
void release_pages(const Pages& pages);
// From `begin`, where pages begin, to the end of the last page that has memory, at most `bytes`. 0 where the system
// can't say.
uint64_t touched_bytes(std::byte* begin, uint64_t bytes);
// False where the process has a limit of address space (ulimit -v) that leaves less than so many bytes.
bool has_address_space(uint64_t bytes);

// --- Threads

// One that start_thread() started. Stays where it is until join_thread().
struct Thread {
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
  uintptr_t handle = 0;
};

// False where the system refuses another thread.
bool start_thread(void (*function)(void*), void* argument, Thread* thread);
void join_thread(Thread* thread);
// Processors that this process may use; at least 1.
int usable_processors();

// Sleeps while `word` is `old`, until a wake_all() of the same word; may also return for no reason. The comparison is
// behind all that the thread did before, in the one order of operations that are memory_order_seq_cst. So if one thread
// makes A (seq_cst) and waits, another changes the word (seq_cst) and reads A (seq_cst), then either that reading sees
// A, or the wait sees the change: who reads that nobody waits need not wake. Allocates nothing.
void wait_while(const std::atomic<uint32_t>& word, uint32_t old);
// Ends all waits for `word` that began before.
void wake_all(const std::atomic<uint32_t>& word);

// --- Others

// Numbers that nobody can guess; false where the system has none.
bool fill_random(void* to, size_t bytes);
// From some beginning on; never steps back.
double seconds_now();

// CPUID's answer; false where the processor has no such leaf. Of x86-64 alone, as the next one.
struct CpuId {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
bool cpuid(uint32_t leaf, uint32_t subleaf, CpuId* answer);
// Registers that the system keeps when it switches threads: the lower half of XCR0. Only where CPUID says OSXSAVE.
uint32_t kept_registers();
// Lets this process use AMX's tiles, where the processor has them: Linux saves them only for those that ask.
bool permit_tiles();
// What an aarch64 processor has beside NEON, as the system says; nothing on other processors.
struct ArmFeatures {
  bool dotprod = false, i8mm = false, bf16 = false;
};
ArmFeatures arm_features();

// Shared libraries; only in builds with backends that are opened at run time. Null where there is none of the name; its
// symbols replace none of the process's own.
void* open_library(const char* file);
// Why the last open_library() of this thread failed; null where the system doesn't say.
const char* open_library_error();
// Null where the library, and those it brought, have no such symbol.
void* find_symbol(void* library, const char* name);

}  // namespace LINFORMER_NAMESPACE::platform
