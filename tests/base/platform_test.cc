#include "base/platform.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace linformer_test::platform_test {
namespace {

using namespace linformer;
using namespace linformer::platform;

// A file whose bytes depend on their positions. The destructor removes it.
class CountingFile {
 public:
  explicit CountingFile(size_t bytes) : path_("platform_test_" + std::to_string(random()) + ".bin") {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    REQUIRE(file != nullptr);
    for (size_t i = 0; i < bytes; ++i) std::fputc(expected(i), file);
    REQUIRE(std::fclose(file) == 0);
  }
  ~CountingFile() { std::remove(path_.c_str()); }
  const char* path() const { return path_.c_str(); }
  static unsigned char expected(size_t i) { return static_cast<unsigned char>(i % 251); }

 private:
  static uint64_t random() {
    uint64_t number = 0;
    REQUIRE(fill_random(&number, sizeof number));
    return number;
  }
  std::string path_;
};

bool counts(const std::byte* bytes, size_t count, size_t first) {
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<unsigned char>(bytes[i]) != CountingFile::expected(first + i)) return false;
  }
  return true;
}

TEST_CASE("a file can be opened, described, read, and mapped from any page") {
  const size_t page = static_cast<size_t>(mapping_granularity()), size = 3 * page + 100;
  const CountingFile made(size);
  File file;
  REQUIRE_FALSE(open_file(made.path(), &file));
  FileFacts facts;
  REQUIRE_FALSE(facts_of(file, &facts));
  CHECK(facts.kind == FileKind::regular);
  CHECK(facts.size == size);

  std::vector<std::byte> bytes(50);
  size_t count = 0;
  REQUIRE_FALSE(read_at(file, 1000, bytes.data(), bytes.size(), &count));
  CHECK(count == bytes.size());
  CHECK(counts(bytes.data(), count, 1000));
  REQUIRE_FALSE(read_at(file, size - 20, bytes.data(), bytes.size(), &count));
  CHECK(count == 20);
  REQUIRE_FALSE(read_at(file, size, bytes.data(), bytes.size(), &count));
  CHECK(count == 0);

  Pages whole, part;
  REQUIRE_FALSE(map_file(file, 0, size, &whole));
  REQUIRE_FALSE(map_file(file, 2 * page, size - 2 * page, &part));
  close_file(file);
  CHECK(counts(whole.data, whole.size, 0));
  CHECK(counts(part.data, part.size, 2 * page));
  release_pages(whole);
  release_pages(part);
}

TEST_CASE("a failure has the system's message") {
  File file;
  const Failure missing = open_file("no/such/file", &file);
  REQUIRE(missing);
  CHECK_FALSE(missing.out_of_memory());
  CHECK(std::strcmp(missing.text().words, "No such file or directory") == 0);
  FileFacts facts;
  CHECK(facts_of(file_of_descriptor(-1), &facts));
  size_t count = 0;
  char byte = 0;
  CHECK(read_at(file_of_descriptor(-1), 0, &byte, 1, &count));
  Pages pages;
  CHECK(map_file(file_of_descriptor(-1), 0, 1, &pages));
  CHECK(pages.data == nullptr);

  REQUIRE_FALSE(open_file(".", &file));
  REQUIRE_FALSE(facts_of(file, &facts));
  CHECK(facts.kind == FileKind::other);
  close_file(file);
}

TEST_CASE("reserved pages are zero, and touched_bytes() counts up to the last touched page") {
  const uint64_t page = mapping_granularity(), count = 2500;  // More pages than one system call reads.
  const Pages pages = reserve_pages(count * page - 7);
  REQUIRE(pages.data != nullptr);
  CHECK(pages.size == count * page - 7);
  CHECK(touched_bytes(pages.data, pages.size) == 0);
  pages.data[1200 * page + 5] = std::byte{1};
  CHECK(touched_bytes(pages.data, pages.size) >= 1201 * page);
  CHECK(touched_bytes(pages.data, pages.size) < pages.size);
  CHECK(pages.data[1200 * page + 4] == std::byte{0});
  pages.data[pages.size - 1] = std::byte{1};
  CHECK(touched_bytes(pages.data, pages.size) == pages.size);
  release_pages(pages);
  release_pages({});
  CHECK(reserve_pages(UINT64_MAX).data == nullptr);
  CHECK(reserve_pages(uint64_t{1} << 62).data == nullptr);
}

TEST_CASE("processors, address space and random numbers are available") {
  CHECK(usable_processors() >= 1);
  CHECK(has_address_space(1));
  uint64_t numbers[2] = {};
  REQUIRE(fill_random(&numbers[0], sizeof numbers[0]));
  REQUIRE(fill_random(&numbers[1], sizeof numbers[1]));
  CHECK(numbers[0] != numbers[1]);
  const double begin = seconds_now();
  CHECK(seconds_now() >= begin);
}

}  // namespace

}  // namespace linformer_test::platform_test
