// Tests where a model's bytes may come from besides a path: memory of any alignment, a part of an open file, or a
// function.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/description.h"
#include "support/temporary_folder.h"
#include "format/tiny_model.h"
#include "linformer/model.h"

namespace linformer_test::load_forms_test {

using namespace linformer;

namespace {

using Loaded = Result<std::shared_ptr<const Model>>;

const writer::AlignedBytes& file_bytes() {
  static const writer::AlignedBytes bytes = TinyModel().builder.serialize();
  return bytes;
}

std::span<const std::byte> whole() { return {file_bytes().data(), file_bytes().size()}; }

void check_same(const Loaded& loaded) {
  REQUIRE_MESSAGE(loaded.ok(), std::string(loaded.status().message()));
  const auto expected = Model::load(whole());
  REQUIRE(expected.ok());
  const Model &ours = **loaded, &theirs = **expected;
  CHECK(ours.file_bytes() == whole().size());
  CHECK(ours.verify().ok());
  const size_t tensors = theirs.description().tensors.size();
  REQUIRE(ours.description().tensors.size() == tensors);
  for (size_t i = 0; i < tensors; ++i) {
    const TensorIndex index = static_cast<TensorIndex>(i);
    CHECK(reinterpret_cast<uintptr_t>(ours.data(index)) % 64 == 0);
    CHECK(std::memcmp(ours.data(index), theirs.data(index), theirs.description().tensors[i].bytes) == 0);
  }
}

void check_refused(const Loaded& loaded, Code code, const std::string& part) {
  REQUIRE_FALSE(loaded.ok());
  CAPTURE(std::string(loaded.status().message()));
  CHECK(loaded.status().code() == code);
  CHECK(std::string(loaded.status().message()).find(part) != std::string::npos);
}

void count(void* context) { ++*static_cast<int*>(context); }

// A file with `before` other bytes, the model, and more bytes behind it.
class Packed {
 public:
  explicit Packed(size_t before) {
    std::ofstream file(folder_.path("packed"), std::ios::binary);
    file << std::string(before, 'x');
    file.write(reinterpret_cast<const char*>(whole().data()), static_cast<std::streamsize>(whole().size()));
    file << "behind";
    file.close();
    descriptor_ = ::open(folder_.path("packed").c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(descriptor_ >= 0);
  }
  ~Packed() { ::close(descriptor_); }
  int descriptor() const { return descriptor_; }

 private:
  TemporaryFolder folder_;
  int descriptor_;
};

}  // namespace

TEST_CASE("a model loads from memory of any alignment") {
  for (size_t offset : {0, 1, 8, 32, 63}) {
    CAPTURE(offset);
    std::vector<std::byte> memory(whole().size() + 128);
    const size_t aligned = (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    std::byte* const begin = memory.data() + aligned + offset;
    std::memcpy(begin, whole().data(), whole().size());
    const auto model = Model::load(std::span<const std::byte>(begin, whole().size()));
    check_same(model);
    // Aligned memory is used in place. Other memory was copied.
    CHECK(((*model)->data(0) >= begin && (*model)->data(0) < begin + whole().size()) == (offset == 0));
    if (offset == 0) continue;
    std::memset(begin, 0xff, whole().size());
    check_same(model);
  }
  check_refused(Model::load(std::span<const std::byte>()), Code::corrupt_file, "");
}

TEST_CASE("memory that is handed over is released once") {
  for (bool aligned : {true, false}) {
    for (Access access : {Access::map, Access::read}) {
      CAPTURE(aligned);
      LoadOptions options;
      options.access = access;
      std::vector<std::byte> memory(whole().size() + 64);
      std::byte* const begin =
          memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64 + (aligned ? 0 : 4);
      const size_t size = whole().size() - (aligned ? 0 : 4);
      std::memcpy(begin, whole().data(), size);
      int released = 0;
      {
        // The unaligned memory lacks the last 4 bytes, so that the model is refused. The memory is released
        // nevertheless.
        const auto model = Model::load({begin, size}, &count, &released, options);
        CHECK(model.ok() == aligned);
        CHECK(released == (aligned && access == Access::map ? 0 : 1));
        const auto other = model.ok() ? *model : nullptr;
        CHECK(released == (aligned && access == Access::map ? 0 : 1));
      }
      CHECK(released == 1);
    }
  }
  int released = 0;
  alignas(64) static const std::byte junk[64] = {};
  check_refused(Model::load(junk, &count, &released), Code::corrupt_file, "not a .lnfr model file");
  CHECK(released == 1);
}

TEST_CASE("a model loads from a part of an open file, which may be closed afterwards") {
  for (size_t before : {0, 64, 4096, 4160, 5, 1001}) {
    CAPTURE(before);
    for (Access access : {Access::map, Access::read}) {
      LoadOptions options;
      options.access = access;
      Loaded model = Status::error(Code::internal, "not yet");
      {
        const Packed packed(before);
        REQUIRE(::lseek(packed.descriptor(), 3, SEEK_SET) == 3);
        model = Model::load_descriptor(packed.descriptor(), before, whole().size(), options);
        CHECK(::lseek(packed.descriptor(), 0, SEEK_CUR) == 3);
        // A length of 0 means the rest of the file, which is more than the model.
        CHECK_FALSE(Model::load_descriptor(packed.descriptor(), before, 0, options).ok());
      }
      check_same(model);
    }
  }
  TemporaryFolder folder;
  TinyModel().builder.write(folder.path("alone"));
  const int descriptor = ::open(folder.path("alone").c_str(), O_RDONLY | O_CLOEXEC);
  check_same(Model::load_descriptor(descriptor));
  ::close(descriptor);
}

TEST_CASE("parts outside the file and descriptors that aren't files are refused") {
  const Packed packed(64);
  const uint64_t size = whole().size() + 64 + 6;
  const std::pair<uint64_t, uint64_t> beyond[] = {{size, 0},       {size + 1, 0},   {0, size + 1},           {64, size},
                                                  {UINT64_MAX, 1}, {1, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}};
  for (const auto& [offset, bytes] : beyond) {
    check_refused(Model::load_descriptor(packed.descriptor(), offset, bytes), Code::invalid_argument,
                  "is not in the descriptor's file");
  }
  check_refused(Model::load_descriptor(packed.descriptor(), 0, 64), Code::corrupt_file, "");
  check_refused(Model::load_descriptor(-1), Code::io_error, "the descriptor's file");
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  check_refused(Model::load_descriptor(pipe[0]), Code::io_error, "regular file");
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_CASE("a model loads from bytes that a function reads") {
  struct Source {
    uint64_t next = 0, fails_at = UINT64_MAX;
    int calls = 0;
    static bool read(void* context, std::byte* to, uint64_t offset, size_t bytes) {
      Source& source = *static_cast<Source*>(context);
      ++source.calls;
      CHECK(offset == source.next);
      source.next += bytes;
      if (source.next > source.fails_at) return false;
      REQUIRE(offset + bytes <= whole().size());
      std::memcpy(to, whole().data() + offset, bytes);
      return true;
    }
  };
  Source source;
  check_same(Model::load_with(&Source::read, &source, whole().size()));
  CHECK(source.next == whole().size());
  Source failing;
  failing.fails_at = 0;
  check_refused(Model::load_with(&Source::read, &failing, whole().size()), Code::io_error, "the caller's function");
  CHECK(failing.calls == 1);
  check_refused(Model::load_with(&Source::read, &source, 0), Code::corrupt_file, "no bytes");
  check_refused(Model::load_with(&Source::read, &source, UINT64_MAX), Code::out_of_memory, "no memory");
  check_refused(Model::load_with(nullptr, nullptr, 64), Code::invalid_argument, "the function that reads the model is null");
}

}  // namespace linformer_test::load_forms_test
