#include "commands.h"
#include "describe.h"
#include "errors.h"
#include "flags.h"
#include "output.h"

namespace linformer::cli {
namespace {

struct InspectFlags {
  std::string model;
  RunFlags run;
  int64_t memory = 0;
  bool json = false, verify = false, tensors = false;
};

int inspect(InspectFlags flags) {
  const std::shared_ptr<const Model> model = load_model(flags.model);
  const std::string count = std::to_string(model->description().tensors.size());
  std::optional<Plan> planned;
  if (flags.memory > 0) {
    if (flags.memory > model->description().encoder.max_tokens) {
      throw UsageError("--memory " + std::to_string(flags.memory) + ": the model takes at most " +
                       std::to_string(model->description().encoder.max_tokens) + " tokens");
    }
    flags.run.max_tokens = flags.memory;
    planned = take(plan(*model, flags.run.session_options(*model, flags.memory)));
  }
  if (flags.verify) check(model->verify());

  if (flags.json) {
    nlohmann::ordered_json json = describe_json(*model, flags.model);
    if (flags.tensors) json["tensors"] = tensors_json(*model);
    if (planned) json["memory"] = plan_json(*planned);
    if (flags.verify) json["verified"] = true;
    standard_output().write(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return exit_ok;
  }
  std::string text = describe_text(*model, flags.model);
  if (flags.tensors) text += "\n" + tensors_text(*model);
  if (planned) text += "\n" + plan_text(*planned);
  if (flags.verify) text += "\nThe checksums of all " + count + " tensors match.\n";
  standard_output().write(text);
  return exit_ok;
}

}  // namespace

void add_inspect(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("inspect", "Show what a model is and what it needs");
  auto flags = std::make_shared<InspectFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr)")->type_name("")->required();
  command->add_flag("--json", flags->json, "One JSON object");
  command->add_flag("--tensors", flags->tensors, "Each tensor's type, layout, shape, bytes and offset");
  command->add_flag("--verify", flags->verify, "Compare every tensor with its checksum");
  command->add_option("--memory", flags->memory, "Each buffer of a session for texts of up to N tokens")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}));
  flags->run.add_to(command);
  command->footer(
      "Examples:\n"
      "  linformer inspect model.lnfr\n"
      "  linformer inspect model.lnfr --memory 4096 --batch 1 --threads 2\n"
      "  linformer inspect model.lnfr --verify --json\n");
  command->callback([flags, run] { *run = [flags] { return inspect(*flags); }; });
}

}  // namespace linformer::cli
