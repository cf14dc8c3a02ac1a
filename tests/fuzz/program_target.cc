// Runs a command line of `linformer` with its files: records, ids, vectors and other models.
//
// Each line of the input's part "args" is an argument. The part "stdin" is the program's standard input. The other
// parts are files in the folder in which the program runs. The folder also has four models: words.lnfr, vectors.lnfr,
// full.lnfr and answers.lnfr (write_models()). Parts with the name of a model are not written. Slashes in the arguments
// are replaced, so that the program reads and writes in this folder only.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "answers/output.h"
#include "cli/sentiment_model.h"
#include "commands/commands.h"
#include "fuzz/cost.h"
#include "fuzz/folder_mutation.h"
#include "fuzz/json_mutation.h"
#include "fuzz/program_mutation.h"
#include "support/random_model.h"

namespace cli = linformer::cli;
using namespace linformer_fuzz;

namespace {

constexpr const char *arguments_part = "args", *input_part = "stdin";
constexpr std::array<std::string_view, 4> models = {"words.lnfr", "vectors.lnfr", "full.lnfr", "answers.lnfr"};
constexpr size_t most_arguments = 40, most_argument_bytes = 4096;

// These bounds are per byte of the command line and the files. They are large, because the model runs even for a record
// of one byte, all labels of all heads are printed, and the sanitizers make the program slow.
constexpr Bounds program_bounds = {"run a command", {4e6, 300e6}, {4096, 3 << 20}, {8192, 64 << 10}};

const InputFolder& folder() {
  static const InputFolder made;
  return made;
}

// A file in memory that replaces standard input, output or error.
class Stream {
 public:
  Stream() : descriptor_(::memfd_create("stream", MFD_CLOEXEC)) {}
  void fill(std::string_view bytes) const {
    clear();
    if (::pwrite(descriptor_, bytes.data(), bytes.size(), 0) < 0) std::abort();
  }
  void clear() const {
    if (::ftruncate(descriptor_, 0) != 0) std::abort();
    ::lseek(descriptor_, 0, SEEK_SET);
  }
  uint64_t size() const {
    struct stat status {};
    ::fstat(descriptor_, &status);
    return static_cast<uint64_t>(status.st_size);
  }
  std::string start() const {
    std::string bytes(200, '\0');
    const ssize_t count = ::pread(descriptor_, bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return bytes;
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

struct Streams {
  Stream in, out, err;
};

const Streams& streams() {
  static const Streams made;
  return made;
}

void write_models() {
  linformer_test::SentimentModel words;
  words.more_heads = words.numbers = words.token_types = words.embedding = true;
  linformer_test::write_sentiment_model(words, folder().path(models[0]));
  linformer_test::SentimentModel vectors;
  vectors.vectors = true;
  linformer_test::write_sentiment_model(vectors, folder().path(models[1]));
  linformer_test::RandomModel full;
  full.n = 16;
  full.d_model = 16;
  full.heads = 2;
  full.ffn = 16;
  full.vocabulary = 20;
  full.kinds = {linformer::ProjectionKind::none};
  linformer_test::random_builder(full).write(folder().path(models[2]));
  linformer_test::SentimentModel answers;
  answers.max_tokens = 20;
  answers.labels = {"contradiction", "neutral", "entailment"};
  answers.token_heads = answers.numbers = answers.embedding = true;
  linformer_test::write_sentiment_model(answers, folder().path(models[3]));
}

// Writes the models again if a command has replaced one of them by its output.
void restore_models() {
  static std::array<struct stat, models.size()> known;
  static bool first = true;
  bool same = !first;
  for (size_t i = 0; i < models.size() && same; ++i) {
    struct stat now {};
    same = ::stat(folder().path(models[i]).c_str(), &now) == 0 && now.st_ino == known[i].st_ino &&
           now.st_size == known[i].st_size && now.st_mtim.tv_nsec == known[i].st_mtim.tv_nsec;
  }
  if (same) return;
  write_models();
  for (size_t i = 0; i < models.size(); ++i) ::stat(folder().path(models[i]).c_str(), &known[i]);
  first = false;
}

// Returns the arguments with slashes replaced and with at most 2 threads, because hundreds of threads would only take
// time.
std::vector<std::string> arguments_of(const Parts& parts) {
  std::vector<std::string> arguments;
  const std::string* part = find(parts, arguments_part);
  const std::string lines = part == nullptr ? std::string("classify\nwords.lnfr\ngood") : *part;
  for (size_t begin = 0; begin < lines.size() && arguments.size() < most_arguments;) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    std::string argument = lines.substr(begin, std::min(end - begin, most_argument_bytes));
    begin = end + 1;
    for (char& c : argument) {
      if (c == '/' || c == '\0') c = '_';
    }
    if (argument.starts_with("--threads=")) continue;
    if (!arguments.empty() && arguments.back() == "--threads" && argument != "1") argument = "2";
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

uint64_t bytes_in_folder(const std::vector<std::string>& given) {
  uint64_t bytes = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder().path(""), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) report_violation("the command left a temporary file: %s", name.c_str());
    const bool known = std::find(models.begin(), models.end(), name) != models.end() ||
                       std::find(given.begin(), given.end(), name) != given.end();
    if (!known && entry.is_regular_file(ignored)) bytes += entry.file_size(ignored);
  }
  return bytes;
}

int run(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  std::string name = "linformer";
  pointers.push_back(name.data());
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  const int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  const int here = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (::chdir(folder().path("").c_str()) != 0) std::abort();
  const int code = cli::run_program(count, pointers.data());
  cli::standard_output().flush();
  if (::fchdir(here) != 0) std::abort();
  ::close(here);
  return code;
}

void check(int code) {
  const std::string said = streams().err.start();
  if (code < 0 || code > 2) report_violation("the exit status is %d, not 0, 1 or 2", code);
  if (code == 2 && said.empty()) report_violation("the exit status is 2, but there is no error message");
  if (said.starts_with("linformer: unexpected: ")) report_violation("%s", said.c_str());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  start_accounting();
  restore_models();
  streams();
  // The target replaces standard output and error by files in memory. With this flag libFuzzer prints to its own copy
  // of standard error.
  static std::string flag = "-close_fd_mask=3";
  static std::vector<char*> all(*arguments, *arguments + *count);
  all.insert(all.begin() + 1, flag.data());
  all.push_back(nullptr);
  ++*count;
  *arguments = all.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool redirected = ::dup2(streams().in.descriptor(), STDIN_FILENO) >= 0 &&
                                 ::dup2(streams().out.descriptor(), STDOUT_FILENO) >= 0 &&
                                 ::dup2(streams().err.descriptor(), STDERR_FILENO) >= 0;
  if (!redirected) std::abort();
  const Parts parts = split({data, size});
  const std::vector<std::string> arguments = arguments_of(parts);
  const std::string* input = find(parts, input_part);
  const auto prepare = [&] {
    restore_models();
    folder().clear(models);
    for (const FolderPart& part : parts) {
      const bool model = std::find(models.begin(), models.end(), part.name) != models.end();
      if (part.name != arguments_part && part.name != input_part && !model) folder().write({part});
    }
  };
  prepare();
  std::vector<std::string> given;
  for (const FolderPart& part : parts) given.push_back(part.name.substr(0, part.name.find('/')));
  run_within_bounds(program_bounds, size, [&]() -> uint64_t {
    streams().in.fill(input == nullptr ? std::string_view() : std::string_view(*input));
    streams().out.clear();
    streams().err.clear();
    const int code = run(arguments);
    check(code);
    return streams().out.size() + streams().err.size() + bytes_in_folder(given);
  });
  return 0;
}

std::string linformer_fuzz::altered_part(const FolderPart& part, size_t room, Random& random) {
  if (part.name == arguments_part) return altered_arguments(part.content, random);
  if (part.name.ends_with(".jsonl") && !random.one_in(3)) return altered_json_lines(part.content, room, random);
  if (part.name.ends_with(".json") && !random.one_in(3)) return altered_json(part.content, room, random);
  return altered_records(part.content, room, random);
}
