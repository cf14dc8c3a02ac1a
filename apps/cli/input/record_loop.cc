#include "input/record_loop.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "answers/notes.h"
#include "answers/output.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "files/file_calls.h"
#include "files/interrupted.h"
#include "input/input_notes.h"
#include "input/text_records.h"
#include "system/descriptors.h"

namespace linformer::cli {
namespace {

constexpr uint64_t max_reported = 20;  // The number of bad records that get their own line on standard error.

// Throws DataError if `path` is a folder or can't be read, so that a wrong name is reported before the first file is
// read. A file that may be read is not opened, because a FIFO must not be opened twice. Returns the size of a regular
// file, and 0 for anything else.
uint64_t check_input(const std::string& path) {
  if (path == "-") return 0;
  const system::FileFacts facts = system::facts_of(path);
  if (facts.kind == system::FileFacts::Kind::folder) {
    throw DataError(path + " is a folder; name its files, -i " + path + (path.ends_with('/') ? "*" : "/*") +
                    ", or leave it out");
  }
  if (!files::may_read(path)) ByteSource missing(path);
  return facts.size;
}

}  // namespace

void RecordLoop::run(const InputOptions& input, const RecordFields& fields) {
  limit_ = input.limit;
  bool sized = input.texts.empty();
  for (const std::string& path : input.inputs) {
    const uint64_t bytes = check_input(path);
    sized = sized && bytes > 0;
    bytes_ += bytes;
  }
  if (!sized) bytes_ = 0;
  InvalidText arguments("the command line", progress), whole("the files", progress);
  const auto read_one = [&](const std::string& path) {
    if (input.whole_files) return read_records(input, fields, path, &whole);
    InvalidText invalid(path == "-" ? "standard input" : path, progress);
    read_records(input, fields, path, &invalid);
  };
  for (size_t i = 0; i < input.texts.size() && !done(); ++i) {
    if (input.dash && input.texts[i] == "-") {
      read_one("-");
      continue;
    }
    ++visited_;
    Record record;
    record.text = input.texts[i];
    if (!input.pair_texts.empty()) record.pair = input.pair_texts[i];
    arguments.count_record(record);
    visit(record);
    standard_output().flush();
  }
  for (const std::string& path : input.inputs) {
    if (!done()) read_one(path);
  }
}

void RecordLoop::read_records(const InputOptions& input, const RecordFields& fields, const std::string& path,
                              InvalidText* invalid) {
  const auto flush = [this] {
    if (on_wait) on_wait();
    standard_output().flush();
  };
  // Records that were read before the input failed are still answered.
  const auto reading = [&](auto action) {
    try {
      return action();
    } catch (const DataError&) {
      if (progress) progress->clear();
      flush();
      throw;
    }
  };
  const auto source = reading([&] { return std::make_unique<ByteSource>(path); });
  source->on_wait(flush);
  source->expect_text();
  Format format = input.format_of(path);
  // Only one hint is printed for all files, because they probably have the same format.
  std::optional<FormatHint> seems;
  if (input.is_guessed_text(path)) {
    if (reading([&] { return source->starts_with(label_prefix); })) {
      format = Format::fasttext;
      print_hint(source->name(),
                 std::string("the first line begins with __label__, so the lines are read as fastText's") +
                     (fields.label ? "" : " and their labels are left out") + "; --format text reads them as they are");
    } else if (fields.label) {
      InputOptions::fail_without_fields("--eval", path);
    } else if (!hinted_) {
      seems.emplace(input.field);
    }
  }
  const uint64_t before = visited_;
  const auto reader = reading([&] { return open_records(source.get(), format, fields, input.limits()); });
  for (Record record; !done() && reading([&] { return reader->next(&record); });) {
    ++visited_;
    invalid->count_record(record);
    if (seems && record.error.empty()) print_hint(source->name(), seems->check_next_line(record.text));
    visit(record);
    standard_output().flush();  // The buffer has answers only after a batch was computed.
    if (progress) {
      progress->update(visited_, bytes_before_ + source->bytes_read(), bytes_ > 0 ? bytes_ : source->file_bytes());
    }
  }
  // An empty table or JSON file is probably a mistake, so a note says so. Text files and pipes are often empty on
  // purpose.
  if (visited_ == before && !done() && path != "-" && format != Format::text && !input.whole_files) {
    note(excerpt(source->name(), 200) + ": there are no records in it", progress);
  }
  if (bytes_ > 0) bytes_before_ += source->bytes_read();
}

void RecordLoop::print_hint(const std::string& name, const std::string& sentence) {
  if (sentence.empty() || hinted_) return;
  hinted_ = true;
  note(excerpt(name, 200) + ": " + sentence, progress);
}

nlohmann::json id_of_answer(Record* record, uint64_t number, const InputOptions& input) {
  if (!record->id.is_null()) return std::move(record->id);
  return input.id.empty() ? nlohmann::json(number) : nlohmann::json("record " + std::to_string(number));
}

// Counts 0 answers, so that from now on an interruption says how many records were answered.
Tally::Tally() {
  files::count_answers(0);
  files::mark_answers_written();
}

void Tally::count_answered() { files::count_answers(1); }

void Tally::report(const nlohmann::json& id, const std::string& error, bool always, Progress* progress) const {
  if (errors > max_reported && !always && verbosity() != Verbosity::verbose) return;
  progress->clear();
  std::fprintf(stderr, "linformer: record %s: %s\n", excerpt(json_text(id), 60).c_str(), excerpt(error, 1000).c_str());
}

void Tally::print_summary(int64_t max_tokens, const std::string& hint) const {
  if (errors > 0) {
    std::fprintf(stderr, "linformer: %s of %s records bad\n", grouped(errors).c_str(), grouped(records).c_str());
  }
  if (cut > 0 && !hint.empty()) {
    note(grouped(cut) + " of " + grouped(records) + " texts cut to " + std::to_string(max_tokens) + " tokens; " + hint);
  }
  if (verbosity() == Verbosity::verbose) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    note(grouped(records) + (records == 1 ? " record in " : " records in ") + fixed(seconds, 2) + " s, " +
         fixed(static_cast<double>(records) / seconds, 1) + " a second");
  }
}

void warn_if_text_names_file(const InputOptions& input, const std::string& what_happens) {
  for (const std::string& text : input.texts) {
    if (text != "-" && text.size() < 4096 && system::facts_of(text).regular()) {
      if (text.ends_with(".lnfr")) {
        throw UsageError("'" + excerpt(text, 200) + "' is a model file: MODEL comes before the texts");
      }
      note("'" + excerpt(text, 200) + "' is " + what_happens + " as a text; to read the file of that name: --input " +
           excerpt(text, 200));
    }
  }
}

}  // namespace linformer::cli
