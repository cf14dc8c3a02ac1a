// Tests malformed zip archives.
#include <doctest/doctest.h>

#include <functional>

#include "base/description.h"
#include "converter/checkpoint_writer.h"
#include "converter/conversion.h"
#include "converter/pickle_writer.h"
#include "converter/readers/crc32.h"
#include "hostile_checkpoint/attempt.h"

namespace linformer_test::zip_test {
namespace {

std::string one_tensor_pickle(int64_t elements = 4) {
  PickleWriter pickle;
  pickle.empty_dict().text("w").begin_tensor().storage("FloatStorage", "0", elements).end_tensor(0, {elements}, {1});
  return pickle.set_item().stop();
}

const std::string four_floats(16, '\x01');

std::vector<HandZipEntry> sound_entries() { return {{"a/data.pkl", one_tensor_pickle()}, {"a/data/0", four_floats}}; }

// Returns the offset of the n-th record with this signature, counted from 0.
size_t find_record(const std::string& file, const char* signature, int n) {
  size_t at = file.find(signature);
  while (n-- > 0) at = file.find(signature, at + 4);
  REQUIRE(at != file.npos);
  return at;
}

template <class Number>
std::string patched(std::string file, size_t at, Number number) {
  return file.replace(at, sizeof(number), raw(number));
}

const char* local = "PK\x03\x04";
const char* central = "PK\x01\x02";
const char* end_record = "PK\x05\x06";

// The fields of the zip64 end records of a valid archive, which a test may change.
struct Zip64Fields {
  uint64_t entries = 2, bytes = 0, offset = 0, record = 0;
  uint16_t classic_entries = 0xffff;
  uint32_t classic_bytes = 0xffffffff, classic_offset = 0xffffffff;
};

std::string with_zip64(const std::function<void(Zip64Fields&)>& spoil) {
  const std::string file = zip_archive(sound_entries());
  const size_t end = find_record(file, end_record, 0), directory = find_record(file, central, 0);
  Zip64Fields fields;
  fields.bytes = end - directory;
  fields.offset = directory;
  fields.record = end;
  spoil(fields);
  std::string wide = "PK\x06\x06" + raw(uint64_t{44}) + raw(uint16_t{45}) + raw(uint16_t{45}) + raw(uint64_t{0});
  wide += raw(fields.entries) + raw(fields.entries) + raw(fields.bytes) + raw(fields.offset);
  const std::string locator = "PK\x06\x07" + raw(uint32_t{0}) + raw(fields.record) + raw(uint32_t{1});
  std::string classic =
      std::string(end_record) + raw(uint32_t{0}) + raw(fields.classic_entries) + raw(fields.classic_entries);
  classic += raw(fields.classic_bytes) + raw(fields.classic_offset) + raw(uint16_t{0});
  return file.substr(0, end) + wide + locator + classic;
}

}  // namespace

TEST_CASE("valid archives are read, with and without zip64 records and checksums") {
  Attempts attempts("zip, sound variants");
  CHECK(attempts.attempt(zip_archive(sound_entries()), false, "plain") == "");
  CHECK(attempts.attempt(with_zip64([](Zip64Fields&) {}), false, "zip64") == "");
  std::string without = zip_archive(sound_entries());
  for (int entry : {0, 1}) {
    without = patched(without, find_record(without, local, entry) + 14, uint32_t{0});
    without = patched(without, find_record(without, central, entry) + 16, uint32_t{0});
  }
  CHECK(attempts.attempt(without, false, "no checksums") == "");
  const std::vector<HandZipEntry> entries{
      {"a/", ""}, {"a/data.pkl", one_tensor_pickle()}, {"a/data/0", four_floats}, {"a/byteorder", "little"}};
  CHECK(attempts.attempt(zip_archive(entries), false, "folder and byte order") == "");
}

TEST_CASE("malformed archives are refused") {
  struct Case {
    const char* what;
    std::string file;
    const char* part;  // of the error
  };
  const std::string sound = zip_archive(sound_entries());
  const std::string pickle = one_tensor_pickle();
  const auto with = [&](const char* name, const std::string& bytes) {
    std::vector<HandZipEntry> entries = sound_entries();
    entries.push_back({name, bytes});
    return zip_archive(entries);
  };
  const size_t local1 = find_record(sound, local, 1), central1 = find_record(sound, central, 1),
               end = find_record(sound, end_record, 0);
  const auto both = [&](size_t local_field, size_t central_field, uint16_t value) {
    return patched(patched(sound, local1 + local_field, value), central1 + central_field, value);
  };
  std::string other_name = sound;
  other_name[local1 + 30] = 'b';
  std::string local_crc = patched(sound, local1 + 14, uint32_t{12345});
  const Case cases[] = {
      {"duplicate names", with("a/data/0", four_floats), "two entries named"},
      {"absolute name", with("/etc/passwd", "x"), "plain relative name"},
      {"parent name", with("a/../../x", "x"), "plain relative name"},
      {"dot name", with("a/./x", "x"), "plain relative name"},
      {"empty part", with("a//x", "x"), "plain relative name"},
      {"backslash", with("a\\x", "x"), "plain relative name"},
      {"NUL in a name", zip_archive({{std::string("a\0b", 3), "x"}}), "plain relative name"},
      {"empty name", zip_archive({{"", "x"}}), "empty name"},
      {"folder with contents", with("a/b/", "x"), "folder with contents"},
      {"compressed", both(8, 10, 8), "is compressed"},
      {"encrypted", both(6, 8, 1), "is encrypted"},
      {"strongly encrypted", both(6, 8, 0x41), "is encrypted"},
      {"unknown flag", both(6, 8, 0x20), "never sets"},
      {"method differs", patched(sound, local1 + 8, uint16_t{8}), "described differently"},
      {"flags differ", patched(sound, local1 + 6, uint16_t{8}), "described differently"},
      {"name differs", other_name, "described differently"},
      {"local size differs", patched(sound, local1 + 22, uint32_t{17}), "another size"},
      {"local checksum differs", local_crc, "another size or checksum"},
      {"sizes differ", patched(sound, central1 + 24, uint32_t{15}), "two sizes differ"},
      {"entry beyond the file", patched(sound, central1 + 42, uint32_t{0x7fffffff}), "outside the archive"},
      {"entry at nothing", patched(sound, central1 + 42, uint32_t{1}), "no header"},
      {"entry on another volume", patched(sound, central1 + 34, uint16_t{1}), "another volume"},
      {"two entries in one place", patched(patched(sound, central1 + 42, uint32_t{0}), 26, uint16_t{8}), ""},
      {"comment", patched(sound, end + 20, uint16_t{3}) + "abc", "not at the end"},
      {"comment length lies", patched(sound, end + 20, uint16_t{3}), "comment"},
      {"data appended", sound + "x", "not at the end"},
      {"more entries than the directory", patched(patched(sound, end + 8, uint16_t{9}), end + 10, uint16_t{9}),
       "entries"},
      {"fewer entries", patched(patched(sound, end + 8, uint16_t{1}), end + 10, uint16_t{1}), "beyond its entries"},
      {"directory elsewhere", patched(sound, end + 16, uint32_t{4}), "does not end where"},
      {"directory too large", patched(sound, end + 12, uint32_t{0xfffffff0}), "does not end where"},
      {"directory name length", patched(sound, central1 + 28, uint16_t{60000}), "damaged at entry 1"},
      {"several volumes", patched(sound, end + 4, uint16_t{1}), "several volumes"},
      {"no pickle", zip_archive({{"a/data/0", four_floats}}), "no file FOLDER/data.pkl"},
      {"pickle at the top", zip_archive({{"data.pkl", pickle}}), "no file FOLDER/data.pkl"},
      {"two pickles", with("b/data.pkl", pickle), "two pickles"},
      {"TorchScript", with("a/constants.pkl", "x"), "TorchScript"},
      {"big-endian", with("a/byteorder", "big"), "endian"},
      {"storage absent", zip_archive({{"a/data.pkl", pickle}}), "storage \"0\" is not in"},
      {"storage short", zip_archive({{"a/data.pkl", pickle}, {"a/data/0", "1234"}}), "4 bytes where 4 elements"},
      {"bytes after the pickle", zip_archive({{"a/data.pkl", pickle + "N."}, {"a/data/0", four_floats}}),
       "ends at byte"},
      {"zip64 entries lie", with_zip64([](Zip64Fields& f) { f.entries = 3; }), "more than its directory"},
      {"zip64 entries huge", with_zip64([](Zip64Fields& f) { f.entries = ~uint64_t{0}; }), "more than its directory"},
      {"zip64 contradicts entries", with_zip64([](Zip64Fields& f) { f.classic_entries = 7; }), "number of entries"},
      {"zip64 contradicts bytes", with_zip64([](Zip64Fields& f) { f.classic_bytes = 7; }), "size of the directory"},
      {"zip64 contradicts offset", with_zip64([](Zip64Fields& f) { f.classic_offset = 7; }), "offset of the directory"},
      {"zip64 bytes wrap", with_zip64([](Zip64Fields& f) { f.bytes = ~uint64_t{0} - 10; }), "does not end where"},
      {"zip64 offset wraps", with_zip64([](Zip64Fields& f) { f.offset = ~uint64_t{0}; }), "does not end where"},
      {"zip64 record elsewhere", with_zip64([](Zip64Fields& f) { f.record = 0; }), "locator"},
      {"zip64 record beyond", with_zip64([](Zip64Fields& f) { f.record = ~uint64_t{0} - 30; }), "locator"},
      {"zip64 field absent", patched(patched(sound, central1 + 20, ~uint32_t{0}), central1 + 24, ~uint32_t{0}),
       "lacks its zip64 field"},
      {"only the end record", sound.substr(end), "neither a PyTorch"},
      {"header and end record", std::string(local) + sound.substr(end), "does not end where"},
      {"a 64 KB name", with(std::string(65000, 'n').c_str(), "x"), ""},
  };
  Attempts attempts("zip, hand-made");
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const std::string error = attempts.attempt(c.file, false, c.what);
    CAPTURE(error);
    if (std::string(c.what) == "a 64 KB name") {
      CHECK(error.empty());  // strange but valid
      continue;
    }
    CHECK(!error.empty());
    CHECK(contains(error, c.part));
  }
}

TEST_CASE("entries that overlap are refused even if their headers are valid") {
  // The data of the outer entry contain a complete local entry, and the central directory lists both entries.
  const std::string inner_data = four_floats;
  const std::string inner = "PK\x03\x04" + raw(uint16_t{20}) + raw(uint16_t{0}) + raw(uint16_t{0}) + raw(uint32_t{0}) +
                            raw(linformer::convert::crc32(as_bytes(inner_data))) + raw(uint32_t{16}) +
                            raw(uint32_t{16}) + raw(uint16_t{8}) + raw(uint16_t{0}) + "a/data/0" + inner_data;
  std::string file = zip_archive({{"a/data.pkl", one_tensor_pickle()}, {"outer", inner}});
  const size_t end = find_record(file, end_record, 0), directory = find_record(file, central, 0);
  const size_t inner_at = find_record(file, local, 2);
  const std::string record = "PK\x01\x02" + raw(uint16_t{20}) + inner.substr(4, 26) + std::string(10, '\0') +
                             raw(static_cast<uint32_t>(inner_at)) + "a/data/0";
  file.insert(end, record);
  const size_t moved = end + record.size();
  file = patched(patched(file, moved + 8, uint16_t{3}), moved + 10, uint16_t{3});
  file = patched(file, moved + 12, static_cast<uint32_t>(moved - directory));
  Attempts attempts("zip, overlapping entries");
  CHECK(contains(attempts.attempt(file, false, "overlap"), "overlap"));
}

}  // namespace linformer_test::zip_test
