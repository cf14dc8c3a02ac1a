// Tests offsets beyond 32 bits, with a sparse file.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/description.h"
#include "converter/writer/metadata.h"
#include "support/temporary_folder.h"
#include "format/tiny_model.h"
#include "io/container.h"
#include "linformer/model.h"
#include "support/skip.h"

namespace linformer_test::large_file_test {

using namespace linformer;

namespace {

TensorIndex append(ModelDescription& model, const char* name, std::vector<uint64_t> shape) {
  const TensorDescription& last = model.tensors.back();
  TensorDescription tensor;
  tensor.name = name;
  tensor.offset = (last.offset + last.bytes + 63) / 64 * 64;
  tensor.bytes = 4;
  for (uint64_t size : shape) tensor.bytes *= size;
  tensor.shape = std::move(shape);
  model.tensors.push_back(tensor);
  return static_cast<TensorIndex>(model.tensors.size() - 1);
}

}  // namespace

TEST_CASE("a file of more than 4 GiB is used in place, or refused if addresses have 32 bits") {
  TinyModel tiny;
  const writer::AlignedBytes small = tiny.builder.serialize();
  ModelDescription& description = tiny.builder.description;
  const uint64_t small_segment = description.tensors.back().offset + description.tensors.back().bytes;
  append(description, "large", {max_dimension, 64});  // exactly 4 GiB
  const TensorIndex behind = append(description, "behind", {4});
  const TensorDescription& last = description.tensors.back();
  REQUIRE(last.offset > uint64_t{1} << 32);
  const std::vector<std::byte> metadata = writer::serialize_metadata(description);
  const Header header = make_header(metadata, last.offset + last.bytes).value();

  const TemporaryFolder folder;
  const std::string path = folder.path("large.lnfr");
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  const uint64_t size = header.tensor_offset + header.tensor_bytes;
  const float values[] = {1, 2, 3, 4};
  const auto write_at = [&](const void* bytes, size_t count, uint64_t offset) {
    return ::pwrite(file, bytes, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
  };
  const std::byte* small_tensors = small.data() + (small.size() - small_segment);
  const bool written = ::ftruncate(file, static_cast<off_t>(size)) == 0 && write_at(&header, sizeof header, 0) &&
                       write_at(metadata.data(), metadata.size(), header.metadata_offset) &&
                       write_at(small_tensors, small_segment, header.tensor_offset) &&
                       write_at(values, sizeof values, header.tensor_offset + last.offset);
  struct stat facts {};
  const bool sparse = ::fstat(file, &facts) == 0 && facts.st_blocks < 4096;
  ::close(file);
  if (!written || !sparse) {
    linformer_test::skip("no sparse file of 4 GiB here");
    return;
  }
  const auto model = Model::load(path.c_str());
  CAPTURE(std::string(model.status().message()));
  if (sizeof(size_t) < sizeof(uint64_t)) {
    REQUIRE_FALSE(model.ok());
    CHECK(std::string(model.status().message()).find("more bytes than this machine can address") != std::string::npos);
    return;
  }
  REQUIRE(model.ok());
  CHECK(model.value()->file_bytes() == size);
  CHECK(std::memcmp(model.value()->data(behind), values, sizeof values) == 0);
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(size - 1)) == 0);
  CHECK_FALSE(Model::load(path.c_str()).ok());
}

}  // namespace linformer_test::large_file_test
