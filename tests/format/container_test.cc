#include "io/container.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "converter/writer/model_builder.h"
#include "io/hash.h"

namespace linformer_test::container_test {

using namespace linformer;

namespace {

constexpr uint64_t tensor_size = 100;

struct File {
  std::vector<std::byte> metadata = std::vector<std::byte>(300, std::byte{7});
  Header header;
  writer::AlignedBytes bytes;

  File() : header(make_header(metadata, tensor_size).value()), bytes(header.tensor_offset + tensor_size) {
    std::memset(bytes.data(), 0, bytes.size());
    std::memcpy(bytes.data() + header_bytes, metadata.data(), metadata.size());
    std::memset(bytes.data() + header.tensor_offset, 9, tensor_size);
    store(true);
  }
  void store(bool with_checksum) {
    if (with_checksum) header.header_checksum = checksum_of(header);
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  Result<Container> parse() { return parse_container(bytes); }
};

struct Defect {
  const char* name;
  Code code;
  const char* sentence;  // a part of the error
  std::function<void(Header&)> apply;
};

}  // namespace

TEST_CASE("a container returns the metadata and the tensors that were put in") {
  File file;
  const Result<Container> container = file.parse();
  REQUIRE(container.ok());
  CHECK(std::memcmp(container.value().metadata.data(), file.metadata.data(), 300) == 0);
  CHECK(container.value().metadata.size() == 300);
  CHECK(container.value().tensors.size() == tensor_size);
  CHECK(container.value().tensors.data() == file.bytes.data() + 4096);
}

TEST_CASE("each defect of the header has its own error") {
  const Defect defects[] = {
      {"magic", Code::corrupt_file, "not a .lnfr model file", [](Header& h) { h.magic[1] = 'X'; }},
      {"first byte", Code::corrupt_file, "first 8 bytes", [](Header& h) { h.magic[0] = 0x09; }},
      {"end-of-file byte", Code::corrupt_file, "first 8 bytes", [](Header& h) { h.magic[7] = 0; }},
      {"text copy", Code::corrupt_file, "binary mode", [](Header& h) { h.magic[5] = '\n'; }},
      {"version 0", Code::corrupt_file, "version is 0", [](Header& h) { h.version = 0; }},
      {"later version", Code::unsupported, "version is 2", [](Header& h) { h.version = container_version + 1; }},
      {"largest version", Code::unsupported, "4294967295", [](Header& h) { h.version = ~0u; }},
      {"big endian", Code::unsupported, "big endian", [](Header& h) { h.version = 0x01000000; }},
      {"header size", Code::corrupt_file, "claims 65 bytes", [](Header& h) { h.header_bytes = 65; }},
      {"metadata into the header", Code::corrupt_file, "begins at byte 0", [](Header& h) { h.metadata_offset = 0; }},
      {"metadata misplaced", Code::corrupt_file, "begins at byte 72", [](Header& h) { h.metadata_offset = 72; }},
      {"no metadata", Code::corrupt_file, "claims 0 bytes", [](Header& h) { h.metadata_bytes = 0; }},
      {"metadata of 2 GiB", Code::corrupt_file, "claims 2147483648", [](Header& h) { h.metadata_bytes = 1ull << 31; }},
      {"metadata wraps", Code::corrupt_file, "claims 1844", [](Header& h) { h.metadata_bytes = ~0ull; }},
      {"metadata too long", Code::corrupt_file, "is cut", [](Header& h) { h.metadata_bytes = 5000; }},
      {"segment in metadata", Code::corrupt_file, "begins at byte 64", [](Header& h) { h.tensor_offset = 64; }},
      {"segment misaligned", Code::corrupt_file, "begins at byte 4160", [](Header& h) { h.tensor_offset = 4160; }},
      {"segment late", Code::corrupt_file, "begins at byte 8192", [](Header& h) { h.tensor_offset = 8192; }},
      {"segment too long", Code::corrupt_file, "is cut", [](Header& h) { ++h.tensor_bytes; }},
      {"segment wraps", Code::corrupt_file, "is cut", [](Header& h) { h.tensor_bytes = ~0ull; }},
      {"segment too short", Code::corrupt_file, "1 bytes follow", [](Header& h) { --h.tensor_bytes; }},
      {"metadata checksum", Code::corrupt_file, "metadata's checksum", [](Header& h) { ++h.metadata_checksum; }},
  };
  for (const Defect& defect : defects) {
    CAPTURE(std::string(defect.name));
    File file;
    defect.apply(file.header);
    file.store(true);
    const Result<Container> container = file.parse();
    REQUIRE_FALSE(container.ok());
    CHECK(container.status().code() == defect.code);
    CAPTURE(std::string(container.status().message()));
    CHECK(std::string(container.status().message()).find(defect.sentence) != std::string::npos);
  }
}

TEST_CASE("damage that leaves the header plausible is found by its checksum") {
  File file;
  file.header.tensor_bytes ^= 1;
  file.store(false);
  CHECK(std::string(file.parse().status().message()).find("header's checksum") != std::string::npos);
}

TEST_CASE("data in the padding or behind the end is refused") {
  File padded;
  padded.bytes.data()[4095] = std::byte{1};
  CHECK(std::string(padded.parse().status().message()).find("padding") != std::string::npos);
  File file;
  writer::AlignedBytes longer(file.bytes.size() + 1);
  std::memcpy(longer.data(), file.bytes.data(), file.bytes.size());
  CHECK(std::string(parse_container(longer).status().message()).find("follow") != std::string::npos);
}

TEST_CASE("make_header refuses what the format can't hold") {
  CHECK(make_header({}, 1).status().code() == Code::too_long);
  const std::byte one{1};
  CHECK(make_header({&one, 1}, ~0ull).status().code() == Code::too_long);
  CHECK(make_header({&one, 1}, ~0ull - 4096).ok());
}

TEST_CASE("the hash is XXH3-64") {
  // This is the value for the empty input with seed 0 in the specification's test vectors.
  CHECK(hash_bytes({}) == 0x2d06800538d394c2ull);
}

}  // namespace linformer_test::container_test
