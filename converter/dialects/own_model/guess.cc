// Guesses what the tensors beside a package's encoder are, for the settings that an error suggests.
#include <algorithm>

#include "converter/dialects/common.h"
#include "converter/dialects/own_model/own_model.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

struct Guess {
  std::string embedding, positions, norm, head_norm;
  std::vector<std::string> linears;  // Names of modules, in the order of the file.
};

bool mentions(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return name.find(word) != name.npos; });
}

// Returns the number of inputs of a query's weight, which is the encoder's width, or 0 if there is no such weight.
uint64_t width_below(const Checkpoint& checkpoint, std::string_view prefix) {
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.shape.size() == 2 && tensor.name.starts_with(prefix) && mentions(tensor.name, {".to_q."})) {
      return tensor.shape[1];
    }
  }
  return 0;
}

std::string module_of(const std::string& name) {
  constexpr std::string_view end = ".weight";
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : name;
}

Guess guess(const Checkpoint& checkpoint, std::string_view prefix, uint64_t width) {
  Guess made;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.name.starts_with(prefix) || tensor.type >= DataType::i64 || tensor.shape.empty()) continue;
    const std::string module = module_of(tensor.name);
    const bool wide = tensor.shape.back() == width;
    const bool biased = module != tensor.name && checkpoint.find(module + ".bias") != nullptr;
    if (tensor.shape.size() == 1) {
      if (!wide || !biased) continue;
      std::string& norm = made.norm.empty() ? made.norm : made.head_norm;
      if (norm.empty()) norm = module;
    } else if (biased && tensor.shape.size() == 2) {
      made.linears.push_back(module);
    } else if (wide && (tensor.shape.size() == 3 || mentions(module, {"pos", "Pos", ".pe", "place"}))) {
      if (made.positions.empty()) made.positions = module;
    } else if (wide && tensor.shape.size() == 2 && made.embedding.empty()) {
      made.embedding = module;
    }
  }
  return made;
}

}  // namespace

void reject_unconfigured_own_model(const Checkpoint& checkpoint, std::string_view prefix, const char* package,
                                   const char* others) {
  const uint64_t width = width_below(checkpoint, prefix);
  const Guess found = guess(checkpoint, prefix, width);
  if (width == 0 || found.embedding.empty()) return;
  std::string json = std::string("{") + others, explained;
  const auto add = [&](const char* setting, const std::string& name) {
    if (!name.empty()) json += std::string(", \"") + setting + "\": \"" + escaped(name) + "\"";
  };
  const std::string encoder(prefix.substr(0, prefix.size() - 1));
  add("encoder_prefix", encoder);
  add("embedding", found.embedding);
  add("positions", found.positions);
  add("norm", found.norm);
  add("pooling", "POOLING");
  add("head_norm", found.head_norm);
  if (found.linears.size() > 1) {
    add("head_dense", found.linears[found.linears.size() - 2]);
    add("head_activation", "ACTIVATION");
    explained = "; ACTIVATION relu, gelu, tanh or identity";
  }
  add("head", found.linears.empty() ? "" : found.linears.back());
  fail(checkpoint.name, ": below ", prefix, " is an encoder of the package ", package,
       " and beside it what looks like an embedding of tokens: somebody wrote this model around the encoder, and the "
       "names of its tensors do not say what they are. Check the names in these settings, and give ",
       config_option(json + "}"), ", where POOLING is mean, first, max, last, or none for an answer for each token",
       explained,
       "; \"labels\": [\"a\", \"b\"] names the classes (converter/README.md, A classifier of one's own). For ",
       "the encoder alone, which takes vectors, give ",
       config_option("{\"tensor_prefix\": \"" + escaped(encoder) + "\"}"));
}

}  // namespace linformer::convert
