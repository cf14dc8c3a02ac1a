// Converts a checkpoint with the files beside it. The model file must load. It is then exported, and the export is
// converted again.
//
// The parts of an input are the files of the checkpoint's folder, except for two parts: each line of "options" is an
// option of the converter, and "settings.json" is the file of its option --config.
#include <algorithm>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "convert/print_report.h"
#include "convert/print_summary.h"
#include "fuzz/cost.h"
#include "fuzz/folder_mutation.h"
#include "fuzz/json_mutation.h"
#include "fuzz/pickle_mutation.h"
#include "fuzz/safetensors_mutation.h"
#include "linformer/convert.h"
#include "linformer/model.h"

using namespace linformer;
using namespace linformer_fuzz;
using convert::ConvertOptions;

namespace {

constexpr const char *in = "in", *settings_part = "settings.json", *options_part = "options";

// The multiples are those of converter/readers/budget.h, but they count all bytes, including the data of tensors, and
// the bounds of time allow for the cost of the sanitizers. The bound of the output allows for tensors that are views of
// one storage and together 64 times as large as it, and for matrices that are padded to panels of 16.
constexpr Bounds convert_bounds = {"convert", {10e3, 200e6}, {128, 3 << 20}, {1024, 256 << 10}};
constexpr Bounds load_bounds = {"load what was made", {2e3, 50e6}, {1, 1.25 * (1 << 20)}, {}};
constexpr Bounds export_bounds = {"export", {10e3, 200e6}, {64, 2 << 20}, {64, 64 << 10}};

const InputFolder& folder() {
  static const InputFolder made;
  return made;
}

bool is_clear(const std::string& sentence) {
  return sentence.size() > 20 && sentence.size() < 3000 &&
         std::none_of(sentence.begin(), sentence.end(),
                      [](unsigned char c) { return (c < ' ' && c != '\n') || c == 0x7f; });
}

// Returns whether `work` ended without an error. An exception must be a convert::Error whose message is a sentence.
bool succeeds(const char* what, const std::function<void()>& work) {
  std::string sentence;
  try {
    work();
    return true;
  } catch (const convert::Error& error) {
    sentence = error.what();
  } catch (const std::exception& error) {
    report_violation("%s threw an exception that is not a convert::Error: %s", what, error.what());
  }
  if (!is_clear(sentence)) report_violation("%s: the error is not a clear sentence: %s", what, sentence.c_str());
  return false;
}

ConvertOptions options_of(const Parts& parts) {
  ConvertOptions options;
  options.checkpoint = folder().path(in);
  options.output = folder().path("out.lnfr");
  if (find(parts, settings_part) != nullptr) options.config = folder().path(settings_part);
  const std::string* lines = find(parts, options_part);
  std::istringstream stream(lines == nullptr ? std::string() : *lines);
  for (std::string name, value; stream >> name && std::getline(stream >> std::ws, value);) {
    if (name == "labels") options.labels.push_back(value);
    if (name == "head-kind") options.head_kinds.push_back(value);
    if (name == "dialect") options.dialect = value;
    if (name == "dtype" && value == "bf16") options.weight_type = ElementType::bf16;
    if (name == "dtype" && value == "f16") options.weight_type = ElementType::f16;
    if (name == "dtype" && value == "int8") options.weight_type = ElementType::int8;
  }
  return options;
}

void write_input(const Parts& parts) {
  folder().clear();
  for (const FolderPart& part : parts) {
    if (part.name == settings_part) {
      folder().write(part.name, part.content);
    } else if (part.name != options_part) {
      folder().write({{std::string(in) + "/" + part.name, part.content}});
    }
  }
}

uint64_t bytes_of(const convert::Report& report) {
  std::ostringstream table, summary, json;
  print_table(report, {}, table);
  print_summary(report, {}, summary);
  print_json(report, {}, json);
  return table.str().size() + summary.str().size() + json.str().size();
}

// Converts a checkpoint. Returns the size of the model file in bytes, or 0 if the converter refused the checkpoint.
uint64_t converted(const ConvertOptions& options, uint64_t bytes) {
  uint64_t made = 0;
  run_within_bounds(convert_bounds, bytes, [&]() -> uint64_t {
    std::optional<convert::Report> report;
    made = 0;
    uint64_t printed = 0;
    if (succeeds("convert", [&] { report = convert::convert_checkpoint(options); })) {
      made = report->output_bytes;
      printed = bytes_of(*report);
    }
    return made + printed;
  });
  return made;
}

// Exports the model file, and converts the export without settings.
void export_back(const ConvertOptions& options, uint64_t bytes) {
  const std::string back = folder().path("back.safetensors");
  bool exported = false;
  run_within_bounds(export_bounds, bytes, [&]() -> uint64_t {
    uint64_t written = 0;
    exported = succeeds("export", [&] {
      convert::ExportOptions export_options;
      export_options.model = options.output;
      export_options.output = back;
      export_options.replace_any = true;
      written = convert::export_checkpoint(export_options).output_bytes;
    });
    return written;
  });
  if (!exported) return;
  ConvertOptions again;
  again.checkpoint = back;
  again.output = folder().path("again.lnfr");
  again.weight_type = options.weight_type;
  converted(again, bytes);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  start_accounting();
  folder();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Parts parts = split({data, size});
  write_input(parts);
  const ConvertOptions options = options_of(parts);
  const uint64_t made = converted(options, size);
  if (made == 0) return 0;
  run_within_bounds(load_bounds, made, [&]() -> uint64_t {
    const auto model = Model::load(options.output.c_str(), {Verify::always});
    if (!model.ok()) report_violation("the converted model file doesn't load: %s", model.status().message());
    return 0;
  });
  export_back(options, std::max<uint64_t>(size, made));
  return 0;
}

namespace {

bool is_json(const std::string& name) { return name.ends_with(".json"); }

}  // namespace

std::string linformer_fuzz::altered_part(const FolderPart& part, size_t most, Random& random) {
  if (is_json(part.name)) return altered_json(part.content, most, random);
  std::string changed;
  if (!random.one_in(10)) {
    if (part.content.starts_with("PK")) {
      changed = altered_torch_zip(part.content, most, random);
    } else if (part.content.starts_with('\x80')) {
      changed = altered_pickle(part.content, random.one_in(2) ? 5 : 1, random);
    } else {
      changed = altered_safetensors(part.content, most, random);
    }
  }
  if (changed.empty() || changed.size() > most) {
    changed = part.content;
    mutate_bytes(&changed, most);
  }
  return changed;
}
