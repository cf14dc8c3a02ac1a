// The calls of the system that files are written with. file_calls_posix.cc and file_calls_windows.cc implement them.
// Paths are UTF-8. A descriptor is the C library's, on Windows too. A call that fails sets errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace linformer::files {

// A new file that is written to, with the permissions that both the umask and the file `replaced`, where there is one,
// allow. -1, with EEXIST, where a file has the name.
int create_file(const std::string& path, const std::string& replaced);
// An existing device or FIFO that is written to, or a second number of a descriptor; child processes inherit neither.
int open_stream(const std::string& path);
int duplicate(int descriptor);
void close_quietly(int descriptor);
// False where the bytes may not have reached the file.
bool close_written(int descriptor);

// The number of bytes that were written; -1: none were. EINTR is possible.
std::ptrdiff_t write_some(int descriptor, const void* bytes, size_t count);
std::ptrdiff_t write_some_at(int descriptor, const void* bytes, size_t count, uint64_t offset);
// 0, or errno's value.
int sync_file(int descriptor);
// What the folder's names are is safe too; 0 also where a system can't say.
int sync_folder(const std::string& folder);

// Gives the file `from` the name `to`, which another file may have had until then.
bool rename_over(const std::string& from, const std::string& to);
// A signal handler may call it.
void remove_file(const char* path);
bool may_read(const std::string& path);
int64_t process_number();

}  // namespace linformer::files
