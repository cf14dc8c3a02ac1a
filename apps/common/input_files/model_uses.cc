#include "input_files/model_uses.h"

#include <algorithm>

namespace linformer::files {
namespace {

using Uses = std::vector<ModelUse>;

void add(const char* command, const std::string& arguments, Uses* uses) {
  const bool known =
      std::any_of(uses->begin(), uses->end(), [&](const ModelUse& use) { return use.command == command; });
  if (!known) uses->push_back({command, arguments});
}

void add_head(const HeadInfo& head, int index, Uses* uses) {
  if (head.spans) return add("answer", R"(--question "Who won?" "Ann won.")", uses);
  if (head.each_token && head.kind == HeadKind::single_label) return add("tag", R"("John lives in Paris.")", uses);
  const std::string number = std::to_string(index);
  if (head.each_token) return add("encode", "\"a text\" --what logits:" + number + " -o scores.npy", uses);
  const std::string chosen = index > 0 ? " --head " + number : "";
  // A head with one score usually rates how well two texts match, so the examples give it a pair of texts.
  const bool score = head.kind == HeadKind::score, pair = head.compares_two || score;
  if ((score && head.classes == 1) || (head.compares_two && head.classes <= 2)) {
    add("rerank", R"(--query "Who won?" "Ann won." "It rained.")" + chosen, uses);
  }
  add("classify", (pair ? R"("Who won?" --pair-text "Ann won.")" : R"("A lovely, moving film.")") + chosen, uses);
}

std::string quoted(const std::string& path) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:@%,-";
  const std::string name = path.starts_with('-') ? "./" + path : path;
  if (!name.empty() && name.find_first_not_of(plain) == std::string::npos) return name;
  std::string text = "'";
  for (const char c : name) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

}  // namespace

std::vector<ModelUse> commands_that_run(const Model& model) {
  const ModelInfo info = model.info();
  Uses uses;
  if (info.has_decoder) return uses;
  if (info.vector_width > 0) {
    if (info.heads > 0) add("classify", "--vectors vectors.npy", &uses);
    add("encode", "--vectors vectors.npy -o hidden.npy", &uses);
    return uses;
  }
  if (info.tokenizer == TokenizerKind::none) {
    add("encode", "--ids ids.npy -o hidden.npy", &uses);
    return uses;
  }
  for (int i = 0; i < info.heads; ++i) add_head(model.head(i), i, &uses);
  if (model.sentence_embedding().present) add("embed", R"("A lovely film." --json)", &uses);
  if (info.has_masked_lm && info.mask_id >= 0) add("fill-mask", R"("Paris is in [MASK].")", &uses);
  if (uses.empty()) add("embed", R"("A lovely film." --pooling mean --json)", &uses);
  return uses;
}

std::string command_line(const ModelUse& use, const std::string& path) {
  return "linformer " + use.command + " " + quoted(path) + " " + use.arguments;
}

}  // namespace linformer::files
