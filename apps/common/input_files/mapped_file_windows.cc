#include <windows.h>

#include <system_error>

#include "files/wide_path.h"
#include "input_files/mapped_file.h"

namespace linformer::files {
namespace {

std::string last_reason() { return std::system_category().message(static_cast<int>(::GetLastError())); }

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const HANDLE file = ::CreateFileW(wide(path).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return;
  LARGE_INTEGER size{};
  if (::GetFileType(file) == FILE_TYPE_DISK && ::GetFileSizeEx(file, &size) != 0 && size.QuadPart > 0) {
    const HANDLE mapping = ::CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
    const void* const address = mapping == nullptr ? nullptr : ::MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
    if (address == nullptr) mapping_error_ = last_reason();
    if (mapping != nullptr) ::CloseHandle(mapping);  // The view keeps the mapping alive.
    if (address != nullptr) {
      bytes_ = {static_cast<const std::byte*>(address), static_cast<size_t>(size.QuadPart)};
    }
  }
  ::CloseHandle(file);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::UnmapViewOfFile(bytes_.data());
}

}  // namespace linformer::files
