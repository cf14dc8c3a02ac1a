// The way back: from a model file to a checkpoint in safetensors, with the names and values that it was made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "converter/dialects/report.h"
#include "converter/files/input_file.h"

namespace linformer::convert {

struct ExportOptions {
  std::string model;            // a .lnfr file
  std::string output;           // the safetensors file
  bool replace_any = false;     // replace an existing output that is no safetensors file
  files::InputOptions input;  // whether the model file is mapped or read
  // Called from the exporting thread with the phase ("writing") and the share done, 0 to 1.
  std::function<void(const char* phase, double done)> progress;
};

struct ExportReport {
  struct Row {
    std::string tensor;
    std::string shape;  // "[32, 32] f16"
    std::string from;   // the tensors of the model file
    std::string note;   // what the file lacks, or empty
  };

  std::string model, dialect;
  std::vector<Report::Fact> facts;
  std::vector<Row> rows;
  std::vector<std::string> notes;
  std::string output;
  uint64_t output_bytes = 0;
};

// The bytes of the safetensors file go to `sink` in order. `file` is 64-byte aligned. Everything in it is validated,
// but partly while bytes flow: after an Error what the sink got is worthless. Equal files give equal bytes.
// Memory: one tensor at a time.
ExportReport export_model(std::span<const std::byte> file, const std::function<void(std::span<const std::byte>)>& sink,
                          const std::function<void(double done)>& progress = {});

// Throws Error, writer::WriteError or files::WriteError; the output is then as it was before.
ExportReport export_checkpoint(const ExportOptions& options);

}  // namespace linformer::convert
