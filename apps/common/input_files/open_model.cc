#include "input_files/open_model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include "input_files/lost_file.h"

namespace linformer::files {
namespace {

// A regular file's bytes, read-only; none where it can't be opened or mapped, or is none.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    // An open of a FIFO doesn't wait for its writer.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return;
    struct stat facts {};
    if (::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
      const size_t size = static_cast<size_t>(facts.st_size);
      void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (address == MAP_FAILED) {
        refusal_ = std::strerror(errno);
      } else {
        bytes_ = {static_cast<const std::byte*>(address), size};
      }
    }
    ::close(descriptor);
    if (!bytes_.empty()) guard_.emplace(bytes_, path);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    guard_.reset();
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  // Why the system doesn't map a file that it opens and that has bytes; empty otherwise.
  const std::string& refusal() const { return refusal_; }

 private:
  std::string refusal_;
  std::span<const std::byte> bytes_;
  std::optional<LostFile> guard_;
};

}  // namespace

Result<std::shared_ptr<const Model>> open_model(const std::string& path, const LoadOptions& options) {
  if (options.access == Access::read) return Model::load(path.c_str(), options);
  auto file = std::make_unique<MappedFile>(path);
  // Mapped by the library, the file would have no guard.
  if (!file->refusal().empty()) {
    return Status::error(Code::io_error, "cannot map %s: %s; --no-mmap reads it", path.c_str(),
                         file->refusal().c_str());
  }
  // The library has the sentence that says what is wrong with the path.
  if (file->bytes().empty()) return Model::load(path.c_str(), options);
  const std::span<const std::byte> bytes = file->bytes();
  const auto release = [](void* owned) { delete static_cast<MappedFile*>(owned); };
  Result<std::shared_ptr<const Model>> model = Model::load(bytes, release, file.release(), options);
  if (model.ok()) return model;
  // Errors begin with the path as those of Model::load(path) do, which shows only the end of a long one.
  constexpr size_t shown = 120;
  const bool is_long = path.size() > shown;
  return Status::error(model.status().code(), "%s%s: %s", is_long ? "..." : "",
                       path.c_str() + (is_long ? path.size() - shown : 0), model.status().message());
}

}  // namespace linformer::files
