// Tests what linformer/convert.h promises in addition to the conversion itself: the codes of errors, progress,
// cancelling, the limit of memory, and the guards of mapped files.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>

#include "converter/option_names.h"
#include "converter/workplace.h"
#include "linformer/convert.h"

namespace linformer_test::public_header_test {

using namespace linformer::convert;
using linformer::Access;
using linformer::Code;
using linformer::ElementType;

namespace {

ConvertOptions options_in(const Workplace& place) {
  write_file(place.path("checkpoint.pt"), checkpoint_with_head(2));
  ConvertOptions options;
  options.checkpoint = place.path("checkpoint.pt");
  options.output = place.path("model.lnfr");
  return options;
}

// Returns the code of the error with which `work` ends, or ok if it ends without one.
template <class Work>
Code code_of(const Work& work) {
  try {
    work();
    return Code::ok;
  } catch (const Error& error) {
    CHECK(std::string(error.what()).size() > 20);
    return error.code();
  }
}

Code conversion_code(const ConvertOptions& options) {
  return code_of([&] { convert_checkpoint(options); });
}

}  // namespace

TEST_CASE("a conversion reports its progress, and errors say by their code what is wrong") {
  const Workplace place;
  ConvertOptions options = options_in(place);
  std::set<std::string> phases;
  double last = -1;
  options.control.progress = [&](const char* phase, double done) {
    if (phases.insert(phase).second) last = 0;
    CHECK(done >= last);
    CHECK(done <= 1);
    last = done;
  };
  CHECK(conversion_code(options) == Code::ok);
  CHECK(phases == std::set<std::string>{"reading", "writing"});
  CHECK(last == 1);

  options.control.progress = nullptr;
  ConvertOptions absent = options;
  absent.checkpoint = place.path("absent.pt");
  CHECK(conversion_code(absent) == Code::invalid_argument);
  ConvertOptions nowhere = options;
  nowhere.output = place.path("absent/model.lnfr");
  CHECK(conversion_code(nowhere) == Code::io_error);
}

TEST_CASE("an error is one line without control characters, whatever the names of files") {
  const Workplace place;
  const std::string names[] = {"a\x0e" "b", "a\nb", "a\x1b[31mb\x7f", "a\tb"};
  const auto sentence_of = [](const ConvertOptions& options) -> std::string {
    try {
      convert_checkpoint(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  for (const std::string& name : names) {
    std::vector<ConvertOptions> wrong(3, options_in(place));
    wrong[0].checkpoint = place.path(name);                       // absent
    wrong[1].output = place.path(name) + "/" + name + "/x.lnfr";  // no folder
    wrong[2].checkpoint = place.path("model") + name;             // without a checkpoint
    std::filesystem::create_directories(wrong[2].checkpoint);
    for (const ConvertOptions& options : wrong) {
      const std::string sentence = sentence_of(options);
      CHECK(sentence.size() > 20);
      CHECK(std::none_of(sentence.begin(), sentence.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }));
    }
  }
}

TEST_CASE("a flag cancels a conversion in both phases, and the output stays as it was") {
  const Workplace place;
  ConvertOptions options = options_in(place);
  REQUIRE(conversion_code(options) == Code::ok);
  const std::string before = read_file(options.output);
  const int64_t entries = place.entry_count();
  for (const std::string cancelled_phase : {"", "reading", "writing"}) {
    CAPTURE(cancelled_phase);
    std::atomic<bool> cancel = cancelled_phase.empty();
    int calls_afterwards = 0;
    options.control.cancel = &cancel;
    options.control.progress = [&](const char* phase, double) {
      if (cancel) ++calls_afterwards;
      if (phase == cancelled_phase) cancel = true;
    };
    CHECK(conversion_code(options) == Code::cancelled);
    CHECK(calls_afterwards == 0);
    CHECK(read_file(options.output) == before);
    CHECK(place.entry_count() == entries);
  }
  std::atomic<bool> cancel = true;
  ExportOptions back{options.output, place.path("back.safetensors"), false, {}};
  back.control.cancel = &cancel;
  CHECK(code_of([&] { export_checkpoint(back); }) == Code::cancelled);
  CHECK(place.entry_count() == entries);
}

TEST_CASE("an exception of the progress callback ends the conversion, and no file is left") {
  const Workplace place;
  ConvertOptions options = options_in(place);
  options.control.progress = [](const char* phase, double) {
    if (phase == std::string("writing")) throw 7;
  };
  CHECK_THROWS_AS(convert_checkpoint(options), int);
  CHECK(place.entry_count() == 1);
}

TEST_CASE("an error message has the name that the caller gave to an option, or else its name in ConvertOptions") {
  const Workplace place;
  ConvertOptions options = options_in(place);
  options.labels = {"one"};
  const auto sentence = [&] {
    try {
      convert_checkpoint(options);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(sentence().starts_with("labels \"one\" has 1 label, which fits no head"));
  options.control.option_name = [](Option option, const std::string& value) {
    return "<" + std::to_string(static_cast<int>(option)) + value + ">";
  };
  CHECK(sentence().starts_with("<2> \"one\" has 1 label"));
  options.labels.clear();
  options.keep = {{ElementType::bf16, "absent*"}};
  CHECK(sentence().find("\"absent*\" (<7>): they are called") != std::string::npos);
  options.keep.clear();
  const std::string with_value = "give " + placeholder(Option::config, "{\"a\":\x1d 1\x1e}") + ", \x1d";
  CHECK(with_option_names(with_value, options.control) == "give <4{\"a\": 1}>, \x1d");
  CHECK(with_option_names(with_value, {}) == "give config '{\"a\": 1}', \x1d");

  // The report's notes name options with option_name, too.
  const Report report = convert_checkpoint(options);
  const auto says = [](const std::vector<std::string>& notes, const std::string& part) {
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return contains(note, part); });
  };
  CHECK(says(report.notes, "Give one with <1>."));
  options.control.option_name = nullptr;
  CHECK(says(convert_checkpoint(options).notes, "Give one with tokenizer."));
}

TEST_CASE("max_memory limits the memory for a checkpoint's structure") {
  const Workplace place;
  ConvertOptions options = options_in(place);
  options.control.max_memory = 1000;
  CHECK(conversion_code(options) == Code::invalid_argument);
  CHECK(place.entry_count() == 1);
  options.control.max_memory = 1 << 24;
  CHECK(conversion_code(options) == Code::ok);
}

TEST_CASE("each mapped file has a guard until it is unmapped, and files that are read without mapping have none") {
  const Workplace place;
  ConvertOptions options = options_in(place);
  std::vector<std::string> guarded;
  int alive = 0;
  options.control.guard_mapping = [&](std::span<const std::byte> bytes, const std::string& path) {
    CHECK(bytes.size() == std::filesystem::file_size(path));
    guarded.push_back(path);
    ++alive;
    return std::shared_ptr<void>(&alive, [](void* count) { --*static_cast<int*>(count); });
  };
  options.control.progress = [&](const char*, double) { CHECK(alive == 1); };
  REQUIRE(conversion_code(options) == Code::ok);
  CHECK(guarded == std::vector<std::string>{options.checkpoint});
  CHECK(alive == 0);

  export_checkpoint({options.output, place.path("back.safetensors"), false, options.control});
  CHECK(guarded == std::vector<std::string>{options.checkpoint, options.output});
  CHECK(alive == 0);

  options.control.access = Access::read;
  options.control.progress = {};
  REQUIRE(conversion_code(options) == Code::ok);
  CHECK(guarded.size() == 2);
}

TEST_CASE("every supported dialect has a description, and --list-dialects lists the same dialects") {
  const std::vector<DialectInfo> infos = supported_dialects();
  CHECK(infos.size() >= 9);
  const Workplace place;
  const Run run = place.run("--list-dialects --json");
  REQUIRE(run.status == 0);
  const nlohmann::json listed = nlohmann::json::parse(run.out);
  REQUIRE(listed.size() == infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    CHECK(listed[i]["name"] == infos[i].name);
    CHECK(listed[i]["summary"] == infos[i].summary);
    CHECK(listed[i]["settings"].size() == infos[i].needs.size());
  }
}

}  // namespace linformer_test::public_header_test
