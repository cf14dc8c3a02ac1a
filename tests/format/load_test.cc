#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "base/description.h"
#include "support/temporary_folder.h"
#include "format/tiny_model.h"
#include "io/container.h"
#include "io/file_bytes.h"
#include "linformer/model.h"
#include "linformer/verify.h"

namespace linformer_test::load_test {

using namespace linformer;

namespace {

void check_refused(const std::string& path, Code code, const char* part) {
  CAPTURE(path);
  const auto model = Model::load(path.c_str());
  REQUIRE_FALSE(model.ok());
  CAPTURE(std::string(model.status().message()));
  CHECK(model.status().code() == code);
  CHECK(std::string(model.status().message()).find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("paths that don't lead to a model are refused with the path and the reason") {
  const TemporaryFolder folder;
  check_refused("", Code::invalid_argument, "empty");
  check_refused(folder.path("missing.lnfr"), Code::io_error, "No such file or directory");
  check_refused(folder.path("missing.lnfr"), Code::io_error, "missing.lnfr");
  check_refused(folder.path("."), Code::io_error, "regular file");
  check_refused("/dev/null", Code::io_error, "regular file");
  std::ofstream(folder.path("empty.lnfr"));
  check_refused(folder.path("empty.lnfr"), Code::corrupt_file, "is empty");
  std::ofstream(folder.path("text.lnfr")) << "once upon a time";
  check_refused(folder.path("text.lnfr"), Code::corrupt_file, "text.lnfr: this is not a .lnfr");
  REQUIRE(::mkfifo(folder.path("pipe.lnfr").c_str(), 0600) == 0);
  check_refused(folder.path("pipe.lnfr"), Code::io_error, "regular file");
  const auto null_path = Model::load(static_cast<const char*>(nullptr));
  CHECK(null_path.status().code() == Code::invalid_argument);
}

TEST_CASE("a model is the same from a path and from memory") {
  const TemporaryFolder folder;
  TinyModel tiny;
  tiny.builder.write(folder.path("model.lnfr"));
  const auto mapped = Model::load(folder.path("model.lnfr").c_str());
  const writer::AlignedBytes bytes = tiny.builder.serialize();
  const auto in_memory = Model::load(bytes);
  REQUIRE(mapped.ok());
  REQUIRE(in_memory.ok());
  CHECK(mapped.value()->file_bytes() == bytes.size());
  const auto& tensors = mapped.value()->description().tensors;
  for (TensorIndex i = 0; i < static_cast<TensorIndex>(tensors.size()); ++i) {
    const auto& tensor = tensors[static_cast<size_t>(i)];
    CHECK(reinterpret_cast<uintptr_t>(mapped.value()->data(i)) % 64 == 0);
    CHECK(std::memcmp(mapped.value()->data(i), in_memory.value()->data(i), tensor.bytes) == 0);
    CHECK(in_memory.value()->data(i) >= bytes.data());  // in place
    CHECK(in_memory.value()->data(i) < bytes.data() + bytes.size());
  }
  const auto& offsets = in_memory.value()->description().tokenizer.token_offsets;
  CHECK(reinterpret_cast<const std::byte*>(offsets.data()) > bytes.data());
  CHECK(reinterpret_cast<const std::byte*>(offsets.data()) < bytes.data() + bytes.size());
}

TEST_CASE("a file that was read may be overwritten and cut while the model exists") {
  const TemporaryFolder folder;
  const std::string path = folder.path("model.lnfr");
  TinyModel tiny;
  tiny.builder.write(path);
  LoadOptions options;
  options.access = Access::read;
  const auto model = Model::load(path.c_str(), options);
  REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
  REQUIRE(::truncate(path.c_str(), 100) == 0);  // for a mapped file, the next line would be a bus error
  CHECK((*model)->verify().ok());
  std::ofstream(path) << "something else";
  CHECK((*model)->verify().ok());
  const writer::AlignedBytes bytes = tiny.builder.serialize();
  const auto expected = Model::load(bytes);
  REQUIRE(expected.ok());
  CHECK((*model)->file_bytes() == bytes.size());
  CHECK(std::memcmp((*model)->data(0), (*expected)->data(0), (*expected)->description().tensors[0].bytes) == 0);
  CHECK(Model::load(path.c_str(), options).status().code() == Code::corrupt_file);
  CHECK(Model::load(folder.path("missing").c_str(), options).status().code() == Code::io_error);
}

TEST_CASE("a model is verified in one thread while another reads it") {
  TinyModel tiny;
  const writer::AlignedBytes bytes = tiny.builder.serialize();
  LoadOptions options;
  options.checksums = Verify::never;
  const auto model = Model::load(bytes, options);
  REQUIRE(model.ok());
  Status verified = Status::error(Code::internal, "not yet");
  std::thread background([&] { verified = (*model)->verify(); });
  uint64_t sum = 0;
  for (size_t i = 0; i < (*model)->description().tensors.size(); ++i) {
    sum += static_cast<uint64_t>(*(*model)->data(static_cast<TensorIndex>(i)));
  }
  background.join();
  CHECK(verified.ok());
  CHECK(sum > 0);
}

TEST_CASE("tensor checksums are compared as the options say") {
  TinyModel tiny;
  writer::AlignedBytes bytes = tiny.builder.serialize();
  bytes.data()[bytes.size() - 1] ^= std::byte{1};
  LoadOptions options;
  CHECK_FALSE(Model::load(bytes, options).ok());
  options.verify_below = bytes.size() - 1;
  REQUIRE(Model::load(bytes, options).ok());
  const std::shared_ptr<const Model> damaged = Model::load(bytes, options).value();
  CHECK_FALSE(damaged->verify().ok());
  const int tensors = damaged->info().tensors;
  int wrong = 0;
  for (int i = 0; i < tensors; ++i) {
    const Status status = verify_tensor(*damaged, i);
    if (status.ok()) continue;
    ++wrong;
    CHECK(status.code() == Code::corrupt_file);
    CHECK(std::string(status.message()) == damaged->verify().message());
  }
  CHECK(wrong == 1);
  CHECK(verify_tensor(*damaged, tensors).code() == Code::invalid_argument);
  CHECK(verify_tensor(*damaged, -1).code() == Code::invalid_argument);
  options.checksums = Verify::always;
  const auto refused = Model::load(bytes, options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == Code::corrupt_file);
  CHECK(std::string(refused.status().message()).find("checksum of tensor") != std::string::npos);
  options.checksums = Verify::never;
  options.verify_below = ~0ull;
  CHECK(Model::load(bytes, options).ok());
}

TEST_CASE("padding between tensors must be zero") {
  TinyModel tiny;
  writer::AlignedBytes bytes = tiny.builder.serialize();
  const auto model = Model::load(bytes);
  REQUIRE(model.ok());
  bool found = false;
  for (const TensorDescription& tensor : model.value()->description().tensors) {
    if (tensor.bytes % 64 == 0) continue;
    const auto end = static_cast<size_t>(model.value()->data(0) - bytes.data()) + tensor.offset + tensor.bytes;
    if (end >= bytes.size()) continue;
    bytes.data()[end] = std::byte{1};
    const auto refused = Model::load(bytes);
    REQUIRE_FALSE(refused.ok());
    CHECK(std::string(refused.status().message()).find("padding after tensor") != std::string::npos);
    bytes.data()[end] = std::byte{0};
    found = true;
  }
  CHECK(found);
}

TEST_CASE("the error for a long path shows the end of the path") {
  const TemporaryFolder folder;
  const std::string name = std::string(200, 'n') + ".lnfr";
  std::ofstream(folder.path(name)) << "text";
  const auto model = Model::load(folder.path(name).c_str());
  const std::string message = model.status().message();
  CHECK(message.find("n.lnfr: this is not a .lnfr model file") != std::string::npos);
}

TEST_CASE("a mapping can be moved and is released once") {
  const TemporaryFolder folder;
  std::ofstream(folder.path("file")) << "abc";
  auto first = FileBytes::map(folder.path("file").c_str());
  REQUIRE(first.ok());
  FileBytes second = std::move(*first);
  CHECK(first->bytes().empty());
  CHECK(second.bytes().size() == 3);
  FileBytes third;
  third = std::move(second);
  CHECK(third.bytes()[0] == std::byte{'a'});
}

}  // namespace linformer_test::load_test
