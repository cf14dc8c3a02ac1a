#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "input_files/mapped_file.h"

namespace linformer::files {

MappedFile::MappedFile(const std::string& path) {
  // With O_NONBLOCK, open() of a FIFO doesn't wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  struct stat facts {};
  if (::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
    const size_t size = static_cast<size_t>(facts.st_size);
    void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
      mapping_error_ = std::strerror(errno);
    } else {
      bytes_ = {static_cast<const std::byte*>(address), size};
    }
  }
  ::close(descriptor);
  if (!bytes_.empty()) guard_.emplace(bytes_, path);
}

MappedFile::~MappedFile() {
  guard_.reset();
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace linformer::files
