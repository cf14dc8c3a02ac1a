#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>
#include <cerrno>

#include "files/wide_path.h"
#include "system/descriptors.h"

namespace linformer::system {
namespace {

HANDLE handle_of(int descriptor) { return reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor)); }

// Opens a file or a folder. Windows opens folders only with FILE_FLAG_BACKUP_SEMANTICS.
HANDLE opened(const std::string& path, DWORD access) {
  return ::CreateFileW(files::wide(path).c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
}

uint64_t joined(DWORD high, DWORD low) { return uint64_t{high} << 32 | low; }

FileFacts facts_from(HANDLE handle) {
  FileFacts facts;
  const DWORD type = ::GetFileType(handle);
  if (type == FILE_TYPE_PIPE) facts.kind = FileFacts::Kind::pipe;
  if (type == FILE_TYPE_CHAR) facts.kind = FileFacts::Kind::other;
  BY_HANDLE_FILE_INFORMATION found{};
  if (type != FILE_TYPE_DISK || ::GetFileInformationByHandle(handle, &found) == 0) return facts;
  const bool folder = (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  facts.kind = folder ? FileFacts::Kind::folder : FileFacts::Kind::regular;
  if (!folder) facts.size = joined(found.nFileSizeHigh, found.nFileSizeLow);
  facts.device = found.dwVolumeSerialNumber;
  facts.number = joined(found.nFileIndexHigh, found.nFileIndexLow);
  return facts;
}

// Sets `bytes` to the number of bytes that can be read from the pipe. Returns false if the writer has closed the pipe.
// If Windows can't tell the number, `bytes` is 1, so that the caller reads and gets the error.
bool waiting_bytes(HANDLE pipe, DWORD* bytes) {
  if (::PeekNamedPipe(pipe, nullptr, 0, nullptr, bytes, nullptr) != 0) return true;
  *bytes = 1;
  return ::GetLastError() != ERROR_BROKEN_PIPE;
}

}  // namespace

FileFacts facts_of(const std::string& path) {
  const HANDLE handle = opened(path, 0);  // Access 0 is enough to query the file.
  if (handle == INVALID_HANDLE_VALUE) return {};
  const FileFacts facts = facts_from(handle);
  ::CloseHandle(handle);
  return facts;
}

FileFacts facts_of(int descriptor) { return facts_from(handle_of(descriptor)); }

int open_for_reading(const std::string& path) {
  const HANDLE handle = opened(path, GENERIC_READ);
  if (handle == INVALID_HANDLE_VALUE) {
    files::set_errno_from_last_error();
    return -1;
  }
  const int flags = _O_RDONLY | _O_BINARY | _O_NOINHERIT;
  const int descriptor = ::_open_osfhandle(reinterpret_cast<intptr_t>(handle), flags);
  if (descriptor < 0) ::CloseHandle(handle);
  return descriptor;
}

void close_descriptor(int descriptor) { ::_close(descriptor); }

std::ptrdiff_t read_some(int descriptor, void* to, size_t count) {
  DWORD done = 0;
  const DWORD asked = static_cast<DWORD>(std::min(count, size_t{1} << 30));
  if (::ReadFile(handle_of(descriptor), to, asked, &done, nullptr) != 0) return static_cast<std::ptrdiff_t>(done);
  if (::GetLastError() == ERROR_BROKEN_PIPE) return 0;  // The writer has closed the pipe.
  files::set_errno_from_last_error();
  return -1;
}

bool has_bytes_now(int descriptor) {
  const HANDLE handle = handle_of(descriptor);
  DWORD bytes = 0;
  if (::GetFileType(handle) == FILE_TYPE_PIPE) return !waiting_bytes(handle, &bytes) || bytes > 0;
  return ::GetFileType(handle) != FILE_TYPE_CHAR;  // A read from a console waits for the user's next line.
}

bool standard_input_has_bytes() {
  const HANDLE handle = handle_of(standard_input);
  const FileFacts facts = facts_from(handle);
  if (facts.regular()) {
    const LARGE_INTEGER none{};
    LARGE_INTEGER position{};
    return ::SetFilePointerEx(handle, none, &position, FILE_CURRENT) != 0 &&
           static_cast<uint64_t>(position.QuadPart) < facts.size;
  }
  if (facts.kind != FileFacts::Kind::pipe) return false;
  // Windows has no call that waits for bytes in a pipe without reading them, so this loop polls.
  constexpr DWORD milliseconds = 10;
  DWORD bytes = 0;
  while (waiting_bytes(handle, &bytes)) {
    if (bytes > 0) return true;
    ::Sleep(milliseconds);
  }
  return false;
}

}  // namespace linformer::system
