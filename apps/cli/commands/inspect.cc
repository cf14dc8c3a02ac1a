#include <CLI/CLI.hpp>
#include <charconv>

#include "answers/output.h"
#include "answers/progress.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/run_flags.h"
#include "inspect/describe.h"
#include "linformer/verify.h"
#include "models/model_file.h"

namespace linformer::cli {
namespace {

struct InspectFlags {
  std::string model;
  RunFlags run;
  int64_t memory = 0;
  std::string tokens;  // The value of --plan; empty if it was not given.
  bool plan = false, json = false, verify = false, tensors = false;
};

constexpr int64_t listed_tokens = 512;  // The default of --plan.

std::optional<int64_t> number_of(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// The ops of the encoder or decoder, for a text with the number of tokens that --plan names.
struct Listing {
  Listing(const InspectFlags& flags, const Model& model, Part part) {
    const int64_t limit = model.encoder(part).max_tokens;
    tokens = flags.tokens.empty() ? std::min(limit, listed_tokens) : number_of(flags.tokens).value_or(0);
    if (tokens < 1 || tokens > limit) {
      throw UsageError("--plan " + flags.tokens + ": give a number of tokens, 1 to " + std::to_string(limit));
    }
    SessionOptions options = flags.run.session_options(model, 0);
    options.memory.max_tokens = tokens;
    options.memory.max_batch = 1;
    options.memory.max_rows = 0;
    options.run.part = part;
    // program_lines() doesn't examine the machine, so the options are first set to what a session on this machine would
    // choose.
    if (options.cuda.device < 0) options = value_or_throw(plan(model, options)).options;
    lines = program_lines(model, options, tokens);
  }

  int64_t tokens = 0;
  std::vector<ProgramLine> lines;
};

// Compares each tensor with its checksum and shows the progress, because reading a large file takes long.
void verify(const Model& model) {
  const int tensors = model.info().tensors;
  uint64_t bytes = 0, done = 0;
  for (int i = 0; i < tensors; ++i) bytes += model.tensor(i).bytes;
  Progress progress(true, "tensor", "tensors");
  for (int i = 0; i < tensors; ++i) {
    progress.update(static_cast<uint64_t>(i), done, bytes);
    const Status status = verify_tensor(model, i);
    if (!status.ok()) progress.clear();
    check(status);
    done += model.tensor(i).bytes;
  }
}

int inspect(InspectFlags flags) {
  // The number of --plan is optional, so the argument after it may be the model.
  if (flags.model.empty() && !number_of(flags.tokens)) std::swap(flags.model, flags.tokens);
  if (flags.model.empty()) throw UsageError("MODEL is required; see 'linformer inspect --help'");
  const std::shared_ptr<const Model> model = load_model(flags.model);
  const ModelInfo info = model->info();
  std::optional<Listing> listing, decoder;
  if (flags.plan) listing.emplace(flags, *model, Part::encoder);
  if (flags.plan && info.has_decoder) decoder.emplace(flags, *model, Part::decoder);
  std::optional<Plan> planned;
  if (flags.memory > 0) {
    if (flags.memory > info.max_tokens) {
      throw UsageError("--memory " + std::to_string(flags.memory) + ": the model takes at most " +
                       std::to_string(info.max_tokens) + " tokens");
    }
    flags.run.max_tokens = flags.memory;
    planned = value_or_throw(plan(*model, flags.run.session_options(*model, flags.memory)));
  }
  if (flags.verify) verify(*model);
  // The plan has the types that a session would compute in. A model for which no session can be created is described
  // without them. If the options force a type that this machine lacks, the command ends with an error, like the
  // commands that compute.
  SessionOptions options = flags.run.session_options(*model, 1);
  const Result<Plan> any = plan(*model, options);
  if (any.status().code() == Code::unsupported) {
    options.run.compute = Compute::automatic;
    options.run.attention_compute = AttentionCompute::automatic;
    if (plan(*model, options).ok()) check(any.status());
  }
  const Plan* const computing = any.ok() ? &*any : nullptr;

  if (flags.json) {
    nlohmann::ordered_json json = describe_json(*model, flags.model, computing);
    if (flags.tensors) json["tensors"] = tensors_json(*model);
    if (planned) json["memory"] = plan_json(*planned);
    if (listing) json["plan"] = program_json(listing->lines, listing->tokens);
    if (decoder) json["decoder_plan"] = program_json(decoder->lines, decoder->tokens);
    if (flags.verify) json["verified"] = true;
    standard_output().write(json_text(json, 2) + "\n");
    return exit_ok;
  }
  std::string text = describe_text(*model, flags.model, computing);
  if (flags.tensors) text += "\n" + tensors_text(*model);
  if (planned) text += "\n" + plan_text(*planned);
  if (listing) text += "\n" + program_text(listing->lines, listing->tokens);
  if (decoder) text += "\nThe decoder:\n" + program_text(decoder->lines, decoder->tokens);
  if (flags.verify) text += "\nThe checksums of all " + std::to_string(info.tensors) + " tensors match.\n";
  standard_output().write(text);
  return exit_ok;
}

}  // namespace

void add_inspect(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("inspect", "Show what a model is and what it needs");
  auto flags = std::make_shared<InspectFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr)")->type_name("");
  command->add_flag("--json", flags->json, "One JSON object");
  command->add_flag("--tensors", flags->tensors, "Each tensor's type, layout, shape, bytes and offset");
  command->add_flag("--verify", flags->verify, "Compare every tensor with its checksum");
  command->add_option("--memory", flags->memory, "Each buffer of a session for texts of up to N tokens")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}));
  CLI::Option* plan =
      command->add_option("--plan", flags->tokens, "Each op that a text of N (512) tokens takes: operands, GFLOP, MB")
          ->type_name("[N]")
          ->expected(0, 1);
  flags->run.add_to(command);
  command->callback([flags, run, plan] {
    flags->plan = plan->count() > 0;
    *run = [flags] { return inspect(*flags); };
  });
}

}  // namespace linformer::cli
