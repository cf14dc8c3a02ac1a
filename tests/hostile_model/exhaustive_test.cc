// Loads a small file with every truncation, every flipped bit and every altered number.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "hostile_model/alteration.h"
#include "hostile_model/hostile_file.h"
#include "hostile_model/metadata_fields.h"
#include "support/case_step.h"
#include "support/temporary_folder.h"

namespace linformer_test::exhaustive_test {

using namespace linformer;

namespace {

constexpr LoadOptions with_checksums{Verify::always, 0};
constexpr LoadOptions without_tensor_checksums{Verify::never, 0};

std::string named(const char* what, size_t at) { return what + std::to_string(at); }

void flip(std::byte* bytes, size_t bit) { bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8)); }

// Reads and writes numbers of 1 to 8 bytes, little endian, at any alignment.
uint64_t load_number(const std::byte* at, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

void store_number(std::byte* at, size_t bytes, uint64_t value) { std::memcpy(at, &value, bytes); }

// Returns 0, 1, the unsigned maximum (or -1) and one less, the signed extremes, and `value` plus and minus one. Numbers
// that equal `value` are left out.
std::vector<uint64_t> hostile_values(uint64_t value, size_t bytes) {
  const uint64_t ones = bytes == 8 ? ~0ull : (1ull << (8 * bytes)) - 1;
  const uint64_t sign = 1ull << (8 * bytes - 1);
  std::vector<uint64_t> values;
  for (uint64_t candidate : {uint64_t{0}, uint64_t{1}, ones, ones - 1, sign, sign - 1, value + 1, value - 1}) {
    if ((candidate & ones) != value) values.push_back(candidate & ones);
  }
  return values;
}

}  // namespace

TEST_CASE("a file that is truncated at any byte is refused") {
  HostileFile file;
  Outcome outcome("truncated in memory");
  for (size_t size = 0; size < file.size(); ++size) {
    const Unreadable rest(file.data() + size, file.data() + file.size());
    outcome.load(file.bytes().first(size), with_checksums, [&] { return named("truncated to ", size); });
  }
  CHECK(outcome.loaded() == 0);
  CHECK(outcome.errors() == static_cast<int64_t>(file.size()));
}

TEST_CASE("a file that is truncated on disk is refused") {
  const TemporaryFolder folder;
  HostileFile file;
  const std::string path = folder.path("model.lnfr");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  REQUIRE(Model::load(path.c_str()).ok());
  int errors = 0;
  for (size_t size = file.size(); size-- > 0;) {
    if (size > 200 && size % 61 != 0 && size % 4096 > 1) continue;
    std::filesystem::resize_file(path, size);
    const auto model = Model::load(path.c_str());
    if (model.ok()) FAIL_CHECK(size);
    ++errors;
  }
  std::printf("truncated on disk: %d errors\n", errors);
}

TEST_CASE("metadata that is truncated at any byte is refused, with right checksums") {
  HostileFile file;
  Outcome outcome("metadata truncated");
  for (size_t size = 1; size < file.metadata().size(); ++size) {
    const writer::AlignedBytes cut = assemble(file.metadata().first(size), file.tensors());
    outcome.load(cut, with_checksums, [&] { return named("metadata truncated to ", size); });
  }
  CHECK(outcome.loaded() == 0);
}

TEST_CASE("a file with any bit flipped is refused") {
  HostileFile file;
  Outcome outcome("bit flipped");
  // Both steps are odd, so that each of the eight bits is flipped in some of the bytes.
  for (size_t bit = 0; bit < 8 * file.size(); bit += case_step(7, 3)) {
    flip(file.data(), bit);
    outcome.load(file.bytes(), with_checksums, [&] { return named("flipped bit ", bit); });
    flip(file.data(), bit);
  }
  CHECK(outcome.loaded() == 0);
}

TEST_CASE("metadata with any bit flipped gives an error or a usable model, with right checksums") {
  HostileFile file;
  Outcome outcome("metadata bit flipped, fixed up");
  for (size_t bit = 0; bit < 8 * file.metadata().size(); bit += case_step(5, 3)) {
    flip(file.metadata().data(), bit);
    file.fix_checksums();
    outcome.load(file.bytes(), without_tensor_checksums, [&] { return named("flipped metadata bit ", bit); });
    flip(file.metadata().data(), bit);
  }
  CHECK(outcome.loaded() > 0);
  CHECK(outcome.errors() > outcome.loaded());
}

TEST_CASE("a header with any bit flipped is refused, with a right checksum") {
  HostileFile file;
  Outcome outcome("header bit flipped, fixed up");
  for (size_t bit = 0; bit < 8 * offsetof(Header, header_checksum); ++bit) {
    Header header = file.original_header();
    flip(reinterpret_cast<std::byte*>(&header), bit);
    file.write_header(header);
    outcome.load(file.bytes(), with_checksums, [&] { return named("flipped header bit ", bit); });
  }
  CHECK(outcome.loaded() == 0);
}

TEST_CASE("weights with a bit flipped give a usable model if checksums are not compared") {
  HostileFile file;
  Outcome outcome("weight bit flipped, not verified");
  std::byte* segment = file.data() + file.original_header().tensor_offset;
  const size_t bits = 8 * file.tensors().size();
  for (size_t bit = 0; bit < bits; bit += 101) {
    flip(segment, bit);
    outcome.load(file.bytes(), without_tensor_checksums, [&] { return named("flipped weight bit ", bit); });
    flip(segment, bit);
  }
  CHECK(outcome.loaded() > 0);  // the errors are about the padding between tensors
}

TEST_CASE("a header with any number set to a hostile value is refused, with a right checksum") {
  HostileFile file;
  Outcome outcome("header number, fixed up");
  constexpr std::pair<size_t, size_t> numbers[] = {{8, 4}, {12, 4}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8}};
  for (const auto& number : numbers) {
    const size_t offset = number.first, bytes = number.second;
    const uint64_t value = load_number(file.data() + offset, bytes);
    std::vector<uint64_t> values = hostile_values(value, bytes);
    for (uint64_t step : {64, 4096, 8192}) values.insert(values.end(), {value + step, value - step});
    for (uint64_t hostile : {file.size(), file.size() + 1, file.size() - 1}) values.push_back(hostile);
    for (uint64_t hostile : values) {
      Header header = file.original_header();
      store_number(reinterpret_cast<std::byte*>(&header) + offset, bytes, hostile);
      file.write_header(header);
      outcome.load(file.bytes(), with_checksums,
                   [&] { return named("header number at ", offset) + named(" = ", hostile); });
    }
  }
  CHECK(outcome.loaded() == 0);
}

TEST_CASE("metadata with any number set to a hostile value gives an error or a usable model, with right checksums") {
  HostileFile file;
  const std::vector<MetadataField> fields = metadata_fields(file.metadata());
  int64_t integers = 0, lengths = 0, floats = 0;
  for (const MetadataField& field : fields) ++(field.floating ? floats : field.length ? lengths : integers);
  std::printf("numbers of the metadata: %lld integers, %lld lengths, %lld floats\n", static_cast<long long>(integers),
              static_cast<long long>(lengths), static_cast<long long>(floats));
  CHECK(integers > 900);
  CHECK(floats > 10);

  Outcome outcome("metadata number, fixed up");
  for (const MetadataField& field : fields) {
    std::byte* at = file.metadata().data() + field.offset;
    const uint64_t value = load_number(at, field.bytes);
    std::vector<uint64_t> values = hostile_values(value, field.bytes);
    // These are NaN, the infinities, a subnormal and -1.
    if (field.floating) values.insert(values.end(), {0x7fc00000, 0x7f800000, 0xff800000, 1, 0xbf800000});
    for (uint64_t hostile : values) {
      store_number(at, field.bytes, hostile);
      file.fix_checksums();
      outcome.load(file.bytes(), without_tensor_checksums, [&] { return field.path + named(" = ", hostile); });
    }
    store_number(at, field.bytes, value);
  }
  CHECK(outcome.errors() > 0);
}

// This also alters offsets, vtables and padding, which no field's name leads to.
TEST_CASE("metadata with any aligned number set to a hostile value gives an error or a usable model") {
  HostileFile file;
  Outcome outcome("any aligned number, fixed up");
  const size_t step = case_step(3);
  size_t number = 0;
  for (size_t bytes : {2, 4}) {
    for (size_t offset = 0; offset + bytes <= file.metadata().size(); offset += bytes) {
      std::byte* at = file.metadata().data() + offset;
      const uint64_t value = load_number(at, bytes);
      for (uint64_t hostile : hostile_values(value, bytes)) {
        if (number++ % step != 0) continue;
        store_number(at, bytes, hostile);
        file.fix_checksums();
        outcome.load(file.bytes(), without_tensor_checksums,
                     [&] { return named("metadata at ", offset) + named(" = ", hostile); });
      }
      store_number(at, bytes, value);
    }
  }
  CHECK(outcome.errors() > 0);
}

}  // namespace linformer_test::exhaustive_test
