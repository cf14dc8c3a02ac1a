// A conversion from beginning to end: what linformer-convert does, as a function.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "converter/dialects/report.h"
#include "converter/dialects/settings.h"
#include "converter/files/input_file.h"
#include "converter/readers/checkpoint.h"
#include "converter/writer/model_builder.h"
#include "linformer/types.h"

namespace linformer::convert {

struct ConvertOptions {
  std::string checkpoint;               // a file, or a folder with a checkpoint of a usual name
  std::string output;                   // the .lnfr file; "-" is standard output
  std::string tokenizer;                // a file or folder; empty: that of the checkpoint's folder, if it was a folder
  std::vector<std::string> labels;      // "a,b" or a file, also after "HEAD="; empty: labels.txt beside the tokenizer
  std::vector<std::string> head_kinds;  // "KIND" or "HEAD=KIND", see converter/dialects/head_kind.h
  // A JSON file with settings, or the JSON itself, which begins with a brace; empty: config.json of the checkpoint's
  // folder.
  std::string config;
  std::string dialect;  // the only one to try; empty: the one that fits
  ElementType weight_type = ElementType::f32;
  std::vector<writer::KeptWeights> keep;  // weights of another type
  bool replace_any = false;               // replace an existing output that is no model file
  files::InputOptions input;              // whether checkpoints are mapped or read
  // Called from the converting thread with the phase ("reading", "writing") and the share done, 0 to 1.
  std::function<void(const char* phase, double done)> progress;
};

// Recognises the dialect and fills the builder with encoder and heads; labels and tokenizer are left to the caller.
// `read` is told the share of the tensors done, 0 to 1; it may be empty. The checkpoint must outlive the builder.
// `dialect`: the only one to try; empty: the one that fits.
void build_model(Checkpoint& checkpoint, const Settings& settings, writer::ModelBuilder* builder, Report* report,
                 const std::function<void(double done)>& read, const std::string& dialect = "");

// Throws Error, writer::WriteError or files::WriteError; the output is then as it was before.
Report convert_checkpoint(const ConvertOptions& options);

}  // namespace linformer::convert
