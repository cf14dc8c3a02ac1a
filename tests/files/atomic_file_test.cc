#include "files/atomic_file.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "support/temporary_folder.h"
#include "support/files.h"

namespace linformer_test::atomic_file_test {

using namespace linformer::files;

namespace {

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Sets a limit of file sizes as long as the object exists. Writes beyond it fail with EFBIG, as writes to a full disk
// fail with ENOSPC.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

}  // namespace

TEST_CASE("a file appears with commit and not before") {
  const TemporaryFolder folder;
  const std::string path = folder.path("file");
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.append(bytes_of("abc"));
    file.append_zeros(3000000);
    file.append(bytes_of("xyz"));
    CHECK(file.size() == 3000006);
    CHECK(read_file(path) == "old");
    CHECK(folder.entry_count() == 2);
    file.commit();
  }
  CHECK(read_file(path) == "abc" + std::string(3000000, '\0') + "xyz");
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("without commit the old file stays and no temporary one is left") {
  const TemporaryFolder folder;
  const std::string path = folder.path("file");
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.append(bytes_of("new"));
  }
  CHECK(read_file(path) == "old");
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("a write that the system refuses is an error that leaves no file") {
  const TemporaryFolder folder;
  const std::string path = folder.path("file");
  bool refused = false;
  {
    const FileSizeLimit limit(1 << 21);
    AtomicFile file(path);
    try {
      file.append_zeros(5 << 20);
      file.commit();
    } catch (const WriteError& error) {
      refused = true;
      CHECK(std::string(error.what()).find(path) != std::string::npos);
    }
  }
  CHECK(refused);
  CHECK(folder.entry_count() == 0);
}

TEST_CASE("a path to which no file can be written is an error that names it, before anything is written") {
  const TemporaryFolder folder;
  ::mkdir(folder.path("folder").c_str(), 0777);
  write_file(folder.path("file"), "old");
  REQUIRE(::symlink("loop", folder.path("loop").c_str()) == 0);
  REQUIRE(::symlink("missing/file", folder.path("dangling").c_str()) == 0);
  for (const std::string& path : {folder.path("missing/file"), folder.path(""), folder.path(".."), std::string(""),
                                  folder.path("folder"), folder.path("file/"), folder.path("file/file"),
                                  folder.path("loop"), folder.path("dangling"), folder.path(std::string(256, 'x'))}) {
    CAPTURE(path);
    CHECK_THROWS_AS(AtomicFile{path}, WriteError);
    try {
      AtomicFile file(path);
    } catch (const WriteError& error) {
      CHECK(std::string(error.what()).starts_with("cannot write " + path + ": "));
    }
  }
  CHECK(folder.entry_count() == 4);
}

TEST_CASE("a symbolic link stays, and the file that it points to is replaced") {
  const TemporaryFolder folder;
  ::mkdir(folder.path("there").c_str(), 0777);
  write_file(folder.path("there/target"), "old");
  REQUIRE(::symlink("there/target", folder.path("link").c_str()) == 0);
  AtomicFile file(folder.path("link"));
  file.append(std::string_view("new"));
  CHECK(read_file(folder.path("there/target")) == "old");
  file.commit();
  CHECK(read_file(folder.path("there/target")) == "new");
  struct stat facts {};
  REQUIRE(::lstat(folder.path("link").c_str(), &facts) == 0);
  CHECK(S_ISLNK(facts.st_mode));
  CHECK(folder.entry_count() == 2);
}

TEST_CASE("a device is written to and stays a device") {
  AtomicFile file("/dev/null");
  CHECK(!file.is_file());
  file.append(std::string_view("gone"));
  file.append_zeros(3000000);
  file.commit();
  CHECK(file.size() == 3000004);
  struct stat facts {};
  REQUIRE(::stat("/dev/null", &facts) == 0);
  CHECK(S_ISCHR(facts.st_mode));
  CHECK_THROWS_AS(AtomicFile("/dev/full").append(std::string_view("x")), WriteError);
}

TEST_CASE("the start of a file can be written again") {
  const TemporaryFolder folder;
  AtomicFile file(folder.path("file"));
  file.append(std::string_view("....."));
  file.append_zeros(2000000);
  file.append(std::string_view("end"));
  file.rewrite_start("begin");
  file.commit();
  CHECK(read_file(folder.path("file")) == "begin" + std::string(2000000, '\0') + "end");
}

TEST_CASE("at most eight files can be written at the same time") {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (int i = 0; i < 8; ++i) files.push_back(std::make_unique<AtomicFile>(folder.path(std::to_string(i))));
  CHECK_THROWS_AS(AtomicFile(folder.path("ninth")), WriteError);
  files.pop_back();
  CHECK_NOTHROW(AtomicFile(folder.path("ninth")));
  CHECK(folder.entry_count() == 7);
}

TEST_CASE("two writers of one path don't disturb each other, and the last commit wins") {
  const TemporaryFolder folder;
  AtomicFile one(folder.path("file")), two(folder.path("file"));
  one.append(bytes_of("one"));
  two.append(bytes_of("two"));
  one.commit();
  two.commit();
  CHECK(read_file(folder.path("file")) == "two");
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("a file that replaces another has no permission that the old file lacked or the umask forbids") {
  const TemporaryFolder folder;
  const std::string path = folder.path("file");
  constexpr mode_t modes[][3] = {{0640, 022, 0640}, {0600, 022, 0600}, {0666, 022, 0644}, {0644, 077, 0600},
                                 {0755, 022, 0644}, {0440, 022, 0440}, {0204, 000, 0204}};
  for (const auto& [old_mode, forbidden, expected] : modes) {
    CAPTURE(old_mode);
    CAPTURE(forbidden);
    std::filesystem::remove(path);
    std::ofstream(path) << "old";
    REQUIRE(::chmod(path.c_str(), old_mode) == 0);
    const mode_t mask = ::umask(forbidden);
    AtomicFile file(path);
    file.append("new");
    file.commit();
    ::umask(mask);
    struct stat facts {};
    REQUIRE(::stat(path.c_str(), &facts) == 0);
    CHECK((facts.st_mode & 07777) == expected);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    CHECK(linformer_test::read_file(path) == "new");
  }
}

TEST_CASE("the new file has the mode of any new file") {
  const TemporaryFolder folder;
  const mode_t mask = ::umask(027);
  AtomicFile file(folder.path("file"));
  file.commit();
  ::umask(mask);
  struct stat facts {};
  REQUIRE(::stat(folder.path("file").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0640);
}

}  // namespace linformer_test::atomic_file_test
