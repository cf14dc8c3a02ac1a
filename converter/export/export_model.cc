#include "converter/export/export_model.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/description.h"
#include "converter/control.h"
#include "converter/export/exported_facts.h"
#include "converter/export/safetensors_header.h"
#include "converter/export/source_tensors.h"
#include "converter/files/atomic_file.h"
#include "converter/files/input_file.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"
#include "io/container.h"
#include "model/flatbuffers_compat.h"

namespace linformer::convert {

namespace {

namespace fs = std::filesystem;

std::string shape_text(const SourceTensor& tensor) {
  std::string text = "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) text += (i ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + "] " + name_of(tensor.type);
}

std::string from_text(const SourceTensor& tensor, const ModelDescription& model) {
  std::vector<std::string> names;
  for (const TensorIndex index : tensor.used) names.push_back(model.tensors[static_cast<size_t>(index)].name);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + escaped(name);
  return tensor.record->pieces()->size() > tensor.used.size() ? text + ", ..." : text;
}

// Returns the settings that the model file keeps, or "" if it has none. Throws Error if they are not a JSON object,
// because other programs will read the text.
std::string settings_of(const schema::Model& root) {
  if (root.settings() == nullptr || root.settings()->size() == 0) return {};
  std::string text = root.settings()->str();
  ValueStore store;
  if (!valid_utf8(text) || !parse_json(store, text, "the settings of the model file").is(ValueKind::dict)) {
    fail("the settings of the model file are not a JSON object: convert the checkpoint again");
  }
  return text;
}

void add_facts(const ModelDescription& model, const std::string& settings, ExportReport* report) {
  report->dialect = model.dialect;
  report->facts.push_back({"settings", settings.empty() ? "none" : settings, "kept in linformer.settings"});
  for (const ClassificationHead& head : model.heads) {
    if (head.labels.empty()) continue;
    report->facts.push_back({"labels of " + head.name, std::to_string(head.labels.size()), "kept in linformer.labels"});
  }
  if (model.tokenizer.kind != TokenizerKind::none) {
    report->facts.push_back({"tokenizer", std::to_string(model.tokenizer.token_offsets.size() - 1) + " tokens",
                             "kept in linformer.tokenizer"});
  }
  report->notes.push_back(
      "Types are those of the model file. Tensors that the conversion left out are in neither file.");
}

// Orders tensors by decreasing element size, so that the data of each tensor is aligned.
bool is_wider(const SourceTensor& a, const SourceTensor& b) { return element_bytes(a.type) > element_bytes(b.type); }

void check_output(const ExportOptions& options) {
  std::error_code error;
  if (files::output_target(options.output).kind != files::OutputTarget::Kind::file) return;
  if (!fs::exists(options.output, error)) return;
  if (fs::equivalent(options.model, options.output, error)) {
    fail("the output ", options.output, " is the input: give another name with ", placeholder(Option::output));
  }
  if (options.replace_any || !fs::is_regular_file(options.output, error)) return;
  const uintmax_t size = fs::file_size(options.output, error);
  std::string start(9, '\0');
  std::ifstream(options.output, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
  uint64_t header = 0;
  std::memcpy(&header, start.data(), sizeof header);
  if (size > 0 && (size < start.size() || start[8] != '{' || header > size - sizeof header)) {
    fail("the output ", options.output, " exists and is no safetensors file: give another name with ",
         placeholder(Option::output), ", or ", placeholder(Option::replace_any), " to replace it");
  }
}

}  // namespace

ExportReport export_model(std::span<const std::byte> file, const std::function<void(std::span<const std::byte>)>& sink,
                          const std::function<void(double done)>& progress) {
  const Result<std::shared_ptr<const Model>> loaded = Model::load(file, {Verify::always, 0});
  if (!loaded.ok()) fail(loaded.status().message());
  const Model& model = *loaded.value();
  const std::span<const std::byte> metadata = parse_container(file).value().metadata;
  std::vector<SourceTensor> sources = read_sources(metadata, model);
  const std::string settings = settings_of(*schema::GetModel(metadata.data()));
  std::stable_sort(sources.begin(), sources.end(), is_wider);

  ExportReport report;
  add_facts(model.description(), settings, &report);
  std::vector<SafetensorsEntry> entries;
  uint64_t total = 0;
  for (const SourceTensor& source : sources) {
    entries.push_back({source.name, source.shape, source.type, source.bytes()});
    total += source.bytes();
  }
  const std::string header = safetensors_header(safetensors_metadata(model.description(), settings), entries);
  sink(std::as_bytes(std::span(header)));
  report.output_bytes = header.size() + total;
  uint64_t done = 0;
  for (const SourceTensor& source : sources) {
    const TensorValues values = collect_values(source, model);
    sink(values.bytes);
    done += values.bytes.size();
    if (progress) progress(static_cast<double>(done) / static_cast<double>(total));
    report.rows.push_back({source.name, shape_text(source), from_text(source, model.description()), ""});
    if (values.missing > 0) {
      report.rows.back().note = std::to_string(values.missing) + " values, which the model never uses, are 0";
    }
  }
  return report;
}

namespace {

ExportReport export_file(const ExportOptions& options) {
  throw_if_cancelled(options.control);
  check_output(options);
  Result<files::InputFile> file = files::InputFile::open(options.model, options.control);
  if (!file.ok()) fail(file.status().message());
  files::AtomicFile output(options.output);
  ExportReport report;
  try {
    report = export_model(
        file.value().bytes(), [&](std::span<const std::byte> bytes) { output.append(bytes); },
        [&](double done) { report_progress(options.control, "writing", done); });
  } catch (const Error& error) {
    throw Error(options.model + ": " + error.what());
  }
  output.commit();
  report.model = options.model;
  report.output = options.output;
  return report;
}

}  // namespace

ExportReport export_checkpoint(const ExportOptions& options) {
  return run_with_public_errors(options.control, [&] { return export_file(options); });
}

}  // namespace linformer::convert
