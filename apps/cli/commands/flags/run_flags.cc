#include "commands/flags/run_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "command_line/errors.h"
#include "linformer/text_reader.h"
#include "models/devices.h"
#include "models/model_file.h"
#include "models/processors.h"
#include "models/text_queue.h"

namespace linformer::cli {
namespace {

constexpr int max_threads = CpuOptions::max_threads;
constexpr int64_t max_batch = 1 << 16;  // More texts in one call would only cost memory.

}  // namespace

void PrecisionFlags::add_to(CLI::App* command) {
  command
      ->add_option(
          "--compute", compute,
          "automatic: the file's precision if this kind of processor is faster in it than in f32, otherwise f32; f32: "
          "all weights are converted to f32; bf16: bf16 weights are multiplied in bf16, even if f32 is faster")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"automatic", "f32", "bf16"}))
      ->capture_default_str()
      ->group("Running");
  command
      ->add_option("--attention-compute", attention_compute,
                   "Type in which attention's scores and context are computed; automatic: bf16 for files in bf16 and "
                   "int8 if bf16 weights are multiplied in bf16, otherwise f32")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"automatic", "f32", "bf16"}))
      ->capture_default_str()
      ->group("Running");
}

void PrecisionFlags::apply_to(SessionOptions* options) const {
  const bool on_device = options->cuda.device >= 0, native = options->cpu.backend == BackendKind::native;
  if (on_device && attention_compute != "automatic") {
    throw UsageError(
        "--attention-compute: a GPU computes attention in the same type as its products; leave the option out");
  }
  if (!on_device && !native && (compute == "bf16" || attention_compute == "bf16")) {
    throw UsageError((compute == "bf16" ? "--compute bf16" : "--attention-compute bf16") +
                     std::string(": only the native backend multiplies bf16; leave out this option or --backend"));
  }
  options->run.compute = compute == "f32" ? Compute::f32 : compute == "bf16" ? Compute::bf16 : Compute::automatic;
  options->run.attention_compute = attention_compute == "f32"    ? AttentionCompute::f32
                                   : attention_compute == "bf16" ? AttentionCompute::bf16
                                                                 : AttentionCompute::automatic;
}

void RunFlags::add_to(CLI::App* command) {
  command->add_option("--threads", threads, "Threads; default: as many as affinity and CPU quota allow")
      ->type_name("N")
      ->check(CLI::Range(1, max_threads))
      ->group("Running");
  command->add_option("--batch", batch, "Greatest number of texts in one call of the model")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, max_batch))
      ->capture_default_str()
      ->group("Running");
  command->add_option("--backend", backend, "native, onednn or openblas")
      ->type_name("NAME")
      ->check(CLI::IsMember({"native", "onednn", "openblas"}))
      ->capture_default_str()
      ->group("Running");
  add_isa_option(command, &isa);
  add_device_option(command, &device);
  precision.add_to(command);
  command->add_option("--max-tokens", max_tokens, "Longest text in tokens; default: the model's limit")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}))
      ->group("Running");
  command
      ->add_option("--padding", padding,
                   "strip: pad ids are removed first; keep: they stay and act as in the original implementation")
      ->type_name("HOW")
      ->check(CLI::IsMember({"strip", "keep"}))
      ->capture_default_str()
      ->group("Running");
  command->add_option("--pad-to", pad_to, "Lengthen each text with pad ids to N tokens")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}))
      ->group("Running");
}

void RunFlags::add_profile_to(CLI::App* command, bool json) {
  command
      ->add_flag(
          "--profile", profile,
          json ? "At the end, print the time of each op on standard error; with --json as one JSON object in a line"
               : "At the end, print the time of each op on standard error")
      ->group("Running");
}

TextOptions RunFlags::text_options() const {
  SessionOptions session;
  session.cpu.threads = threads > 0 ? threads : std::min(processors(), max_threads);
  session.cpu.backend = parse_backend(backend);
  session.cpu.isa = parse_isa(isa);
  session.cuda.device = parse_device_number(device);
  precision.apply_to(&session);
  TextOptions options;
  options.max_tokens = max_tokens;
  options.max_batch = batch;
  options.pad_to = pad_to;
  options.run = session.run;
  options.run.padding = padding == "keep" ? Padding::keep : Padding::strip;
  options.cpu = session.cpu;
  options.cuda = session.cuda;
  options.profile = profile;
  return options;
}

SessionOptions RunFlags::session_options(const Model& model, int64_t longest) const {
  TextOptions options = text_options();
  Result<SessionOptions> made = linformer::session_options(model, options);
  if (!made.ok()) throw_creation_error(made.status());
  if (longest == 0 || longest >= made->memory.max_tokens) return *made;
  options.max_tokens = longest;
  options.pad_to = 0;  // `longest` includes the pads.
  return value_or_throw(linformer::session_options(model, options));
}

void RunFlags::pad(const Model& model, std::vector<int32_t>* ids) const {
  if (pad_to > static_cast<int64_t>(ids->size())) {
    ids->resize(static_cast<size_t>(pad_to), model.info().pad_id);
  }
}

void add_device_option(CLI::App* command, std::string* device) {
  command->add_option("--device", *device, "cpu, or a GPU in a build with CUDA: cuda or cuda:0, cuda:1, ...")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Running");
}

void add_isa_option(CLI::App* command, std::string* isa) {
  command->add_option("--isa", *isa, "Instruction set: automatic, scalar, avx2, avx512 or neon")
      ->type_name("NAME")
      ->check(CLI::IsMember({"automatic", "scalar", "avx2", "avx512", "neon"}))
      ->capture_default_str()
      ->group("Running");
}

void add_no_mmap_flag(CLI::App* command) {
  command
      ->add_flag("--no-mmap", read_whole_models,
                 "Read the whole model into memory instead of mapping it, for files that other programs may change "
                 "during the run")
      ->group("Running");
}

}  // namespace linformer::cli
