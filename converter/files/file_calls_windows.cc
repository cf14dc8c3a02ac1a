#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>
#include <cerrno>

#include "converter/files/file_calls.h"
#include "converter/files/wide_path.h"

namespace linformer::files {
namespace {

constexpr size_t most_at_once = size_t{1} << 30;

HANDLE handle_of(int descriptor) { return reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor)); }

// Returns a descriptor for an opened handle, or -1 after an error. Closes the handle if no descriptor is free.
int descriptor_of(HANDLE handle) {
  if (handle == INVALID_HANDLE_VALUE) {
    set_errno_from_last_error();
    return -1;
  }
  const int descriptor = ::_open_osfhandle(reinterpret_cast<intptr_t>(handle), _O_BINARY | _O_NOINHERIT);
  if (descriptor < 0) ::CloseHandle(handle);
  return descriptor;
}

std::ptrdiff_t write_to(int descriptor, const void* bytes, size_t count, OVERLAPPED* place) {
  DWORD done = 0;
  const DWORD asked = static_cast<DWORD>(std::min(count, most_at_once));
  if (::WriteFile(handle_of(descriptor), bytes, asked, &done, place) != 0) return static_cast<std::ptrdiff_t>(done);
  set_errno_from_last_error();
  return -1;
}

}  // namespace

// Windows gives the new file the permissions of its folder. FILE_SHARE_DELETE lets remove_file() remove the file while
// it is open.
int create_file(const std::string& path, const std::string&) {
  return descriptor_of(::CreateFileW(wide(path).c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                                     CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr));
}

int open_device_or_fifo(const std::string& path) {
  return descriptor_of(::CreateFileW(wide(path).c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                                     OPEN_EXISTING, 0, nullptr));
}

int duplicate(int descriptor) {
  HANDLE copy = INVALID_HANDLE_VALUE;
  const HANDLE process = ::GetCurrentProcess();
  if (::DuplicateHandle(process, handle_of(descriptor), process, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS) == 0) {
    errno = EBADF;
    return -1;
  }
  return descriptor_of(copy);
}

void close_quietly(int descriptor) { ::_close(descriptor); }

bool close_checked(int descriptor) { return ::_close(descriptor) == 0; }

std::ptrdiff_t write_some(int descriptor, const void* bytes, size_t count) {
  return write_to(descriptor, bytes, count, nullptr);
}

std::ptrdiff_t write_some_at(int descriptor, const void* bytes, size_t count, uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return write_to(descriptor, bytes, count, &place);
}

int sync_file(int descriptor) {
  if (::FlushFileBuffers(handle_of(descriptor)) != 0) return 0;
  set_errno_from_last_error();
  return errno;
}

// Windows can't sync folders. rename_over() waits for the disk instead.
int sync_folder(const std::string&) { return 0; }

bool rename_over(const std::string& from, const std::string& to) {
  constexpr DWORD flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
  if (::MoveFileExW(wide(from).c_str(), wide(to).c_str(), flags) != 0) return true;
  set_errno_from_last_error();
  return false;
}

void remove_file(const char* path) { ::DeleteFileW(wide(path).c_str()); }

bool may_read(const std::string& path) {
  const HANDLE handle =
      ::CreateFileW(wide(path).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (handle == INVALID_HANDLE_VALUE) {
    set_errno_from_last_error();
    return false;
  }
  ::CloseHandle(handle);
  return true;
}

int64_t process_id() { return ::GetCurrentProcessId(); }

}  // namespace linformer::files
