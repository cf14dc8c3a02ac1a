// The system calls that write files. file_calls_posix.cc and file_calls_windows.cc implement them. Paths are UTF-8.
// Descriptors are those of the C library, on Windows too. A function that fails sets errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace linformer::files {

// Creates a file for writing and returns its descriptor, or -1 after an error; errno is EEXIST if `path` exists. The
// new file gets only permissions that the umask allows. If the file `permissions_of` exists, the new file gets
// only permissions that `permissions_of` has too. On Windows, it gets the permissions of its folder instead.
int create_file(const std::string& path, const std::string& permissions_of);
// Opens an existing device or FIFO for writing. Returns a descriptor that child processes do not inherit, or -1.
int open_device_or_fifo(const std::string& path);
// Returns a copy of a descriptor, or -1. Child processes do not inherit the copy.
int duplicate(int descriptor);
// Closes a descriptor and ignores errors.
void close_quietly(int descriptor);
// Closes a descriptor. Returns false if the written bytes may not have reached the file.
bool close_checked(int descriptor);

// Write up to `count` bytes and return how many were written, or -1 if none were. errno may be EINTR; the caller then
// tries again.
std::ptrdiff_t write_some(int descriptor, const void* bytes, size_t count);
std::ptrdiff_t write_some_at(int descriptor, const void* bytes, size_t count, uint64_t offset);
// Waits until the file's bytes are on the disk. Returns 0 or the value of errno.
int sync_file(int descriptor);
// Waits until the names in the folder are on the disk. Returns 0 or the value of errno. Returns 0 also if the system
// can't sync folders.
int sync_folder(const std::string& folder);

// Renames the file `from` to `to`, which replaces a file of that name. Returns false after an error.
bool rename_over(const std::string& from, const std::string& to);
// Removes a file and ignores errors. A signal handler may call it.
void remove_file(const char* path);
bool may_read(const std::string& path);
int64_t process_id();

}  // namespace linformer::files
