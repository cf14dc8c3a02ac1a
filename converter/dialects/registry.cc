#include <algorithm>

#include "converter/dialects/bert_linformer/cald.h"
#include "converter/dialects/bert_linformer/pull_request.h"
#include "converter/dialects/common.h"
#include "converter/dialects/fairseq/fairseq.h"
#include "converter/dialects/fairseq/fairseq_hf.h"
#include "converter/dialects/fairseq/jargon.h"
#include "converter/dialects/hugging_face/hugging_face.h"
#include "converter/dialects/hugging_face/sentence_transformers.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/dialects/lucidrains/lucidrains.h"
#include "converter/dialects/lucidrains/vit_linformer.h"
#include "converter/dialects/model_prefix.h"
#include "converter/dialects/modernbert/modernbert.h"
#include "converter/dialects/nystromformer/nystromformer.h"
#include "converter/dialects/own_model/own_model.h"
#include "converter/dialects/pytext/pytext.h"
#include "converter/dialects/rotary_bert/rotary_bert.h"
#include "converter/dialects/static_embedding/static_embedding.h"
#include "converter/dialects/tatp22/tatp22.h"
#include "converter/dialects/tensor_table.h"
#include "converter/dialects/xformers/xformers.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"
#include "converter/readers/exported_keys.h"

namespace linformer::convert {

std::span<const Dialect* const> dialects() {
  static const Fairseq fairseq;
  static const HuggingFace hugging_face;
  static const FairseqHf fairseq_hf;
  static const Jargon jargon;
  static const Cald cald;
  static const TransformersLinformer transformers_linformer;
  static const Lucidrains lucidrains;
  static const Pytext pytext;
  static const VitLinformer vit_linformer;
  static const Xformers xformers;
  static const Nystromformer nystromformer;
  static const ModernBert modernbert;
  static const RotaryBert rotary_bert;
  static const Tatp22 tatp22;
  static const StaticEmbedding static_embedding;
  static const Model2Vec model2vec;
  static const Dialect* const all[] = {
      &fairseq,          &fairseq_hf,    &lucidrains,  &pytext, &vit_linformer, &xformers, &hugging_face,
      &modernbert,       &nystromformer, &rotary_bert, &tatp22, &jargon,        &cald,     &transformers_linformer,
      &static_embedding, &model2vec};
  return all;
}

std::vector<DialectInfo> supported_dialects() {
  std::vector<DialectInfo> infos;
  for (const Dialect* dialect : dialects()) {
    DialectFacts facts = dialect->facts();
    // For a checkpoint without tensors, the reason names the tensors that the dialect looks for, followed by a remark
    // such as " (not there)". The remark is cut off.
    std::string tensors = dialect->recognise(Checkpoint()).reason;
    tensors.resize(std::min(tensors.size(), tensors.rfind(" (not ")));
    infos.push_back({dialect->name(), facts.summary, facts.source, std::move(tensors), std::move(facts.needs)});
  }
  return infos;
}

const Dialect* find_dialect(std::string_view name) {
  for (const Dialect* dialect : dialects()) {
    if (name == dialect->name()) return dialect;
  }
  return nullptr;
}

std::string names_of_dialects() {
  std::string names;
  for (const Dialect* known : dialects()) names += (names.empty() ? "" : ", ") + std::string(known->name());
  return names;
}

std::string unknown_dialect_message(std::string_view name) {
  return "there is no dialect " + quote(name) + ": " + placeholder(Option::dialect) + " takes " + names_of_dialects();
}

namespace {

const Dialect& chosen(const Dialect& dialect, const Checkpoint& checkpoint, const std::string& reason, Report& report) {
  report.dialect = dialect.name();
  report.recognised_by = reason;
  if (const size_t prefix = wrapper_prefix_length(checkpoint)) {
    report.add_fact("prefix", escaped(checkpoint.tensors[0].name.substr(0, prefix)), "all names begin with it");
  }
  return dialect;
}

// Returns the dialect with the highest score for all tensors. If `only` is not null, only that dialect is tried.
Fit best_fit(const Checkpoint& checkpoint, const Dialect* only) {
  Fit best;
  for (const Dialect* dialect : dialects()) {
    if (only != nullptr && dialect != only) continue;
    Recognition recognition = dialect->recognise(checkpoint);
    if (recognition.score > best.recognition.score) best = {dialect, std::move(recognition)};
  }
  return best;
}

// Looks for a prefix whose tensors alone fit a dialect, which is `only` if that is not null. Removes all other tensors
// from the checkpoint, and sets checkpoint.wrapper. The dialect of the result is null if there is no such prefix.
// Throws Error if there are several.
Fit fit_below_prefix(Checkpoint& checkpoint, const Dialect* only, Report& report) {
  if (has_module_tensors(checkpoint)) return {};
  std::vector<PrefixFit> fits = fitting_prefixes(checkpoint, [&](const Checkpoint& part) {
    Fit fit = best_fit(part, only);
    return fit.dialect == nullptr || fit.dialect->may_be_below_prefix() ? fit : Fit{};
  });
  if (fits.empty()) return {};
  if (fits.size() > 1) {
    std::vector<std::string> prefixes;
    for (const PrefixFit& fit : fits) prefixes.push_back(fit.prefix);
    fail(checkpoint.name, ": there are ", fits.size(), " models in it, below ", list_names(prefixes, 4),
         ": say which one, ", config_option(std::string("{\"") + prefix_setting + "\": \"NAME\"}"));
  }
  fits[0].fit.dialect->check_tensors_outside_prefix(checkpoint, fits[0].prefix);
  remove_tensors_outside_prefix(checkpoint, fits[0].prefix, report);
  checkpoint.wrapper = fits[0].prefix.size();
  return std::move(fits[0].fit);
}

// If the user gives the setting tensor_prefix, removes all tensors whose names do not begin with that prefix.
void keep_prefix_of_setting(Checkpoint& checkpoint, const Settings& settings, Report& report) {
  const std::optional<Setting<std::string>> said = settings.text(prefix_setting);
  if (!said || said->value.empty()) return;
  if (has_module_tensors(checkpoint))
    fail("the setting ", prefix_setting,
         " can't be used together with the Dense or LayerNorm modules of sentence-transformers");
  remove_tensors_outside_prefix(checkpoint, said->value.ends_with('.') ? said->value : said->value + ".", report);
}

// Sets checkpoint.wrapper to the length of the shortest prefix with which the dialect fits, or to 0 if none does.
Recognition recognise_as(const Dialect& dialect, Checkpoint& checkpoint) {
  for (const size_t wrapper : possible_wrapper_lengths(checkpoint)) {
    checkpoint.wrapper = wrapper;
    Recognition recognition = dialect.recognise(checkpoint);
    if (recognition.score > 0) return recognition;
  }
  checkpoint.wrapper = 0;
  return dialect.recognise(checkpoint);
}

const Dialect& recognise_wanted(Checkpoint& checkpoint, const std::string& wanted, Report& report) {
  const Dialect* dialect = find_dialect(wanted);
  if (dialect == nullptr) fail(unknown_dialect_message(wanted));
  Recognition recognition = recognise_as(*dialect, checkpoint);
  if (recognition.score == 0) {
    Fit part = fit_below_prefix(checkpoint, dialect, report);
    if (part.dialect != nullptr) recognition = std::move(part.recognition);
  }
  if (recognition.score == 0) {
    fail(checkpoint.name, ": the tensors are not those of the dialect ", dialect->name(), ". Looked for ",
         recognition.reason);
  }
  return chosen(*dialect, checkpoint, recognition.reason + ", and " + placeholder(Option::dialect), report);
}

constexpr const char* by_metadata = ", and its own metadata";

// Returns the dialect that the converter's own export wrote into the file's metadata, or null if another program wrote
// the file.
const Dialect* exported_dialect(const Checkpoint& checkpoint) {
  for (const auto& [key, text] : checkpoint.metadata) {
    const Dialect* dialect = key == exported_dialect_key ? find_dialect(text) : nullptr;
    if (dialect != nullptr) return dialect;
  }
  return nullptr;
}

// Returns the dialect of an encoder around which somebody wrote a model of their own, or null. Only the dialects
// lucidrains and tatp22 support such models; if `wanted` is not empty, only the dialect of that name is tried.
const Dialect* dialect_of_encoder(const Checkpoint& part, const std::string& wanted) {
  for (const char* name : {"lucidrains", "tatp22"}) {
    const Dialect* dialect = find_dialect(name);
    if ((wanted.empty() || wanted == name) && dialect->recognise(part).score > 0) return dialect;
  }
  return nullptr;
}

// Throws Error if the settings have a model_type that is not supported. For a user with such a model, this error is
// clearer than one with names of tensors.
void refuse_model_type(const Checkpoint& checkpoint, const Settings& settings) {
  const std::optional<Setting<std::string>> said = settings.text("model_type");
  if (!said || hugging_face::is_supported_model_type(said->value)) return;
  fail(checkpoint.name, ": ", hugging_face::unsupported_model_type_message(*said));
}

[[noreturn]] void refuse(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  for (const Tensor& tensor : checkpoint.tensors) names.push_back(tensor.name);
  // The error contains only remarks about this checkpoint. The tensors that each dialect looks for are in the list of
  // dialects.
  std::string remarks;
  for (const Dialect* dialect : dialects()) {
    const std::string reason = dialect->recognise(checkpoint).reason;
    if (reason == dialect->recognise(Checkpoint()).reason) continue;
    remarks += std::string("; ") + dialect->name() + ": " + reason;
  }
  fail(checkpoint.name,
       ": no supported implementation has tensors of these names: ", names.empty() ? "(none)" : list_names(names, 6),
       remarks, ". ", placeholder(Option::supported_dialects), " says which tensors each of the ", dialects().size(),
       " implementations has");
}

}  // namespace

const Dialect& recognise(Checkpoint& checkpoint, const std::string& wanted, const Settings& settings, Report& report) {
  keep_prefix_of_setting(checkpoint, settings, report);
  const Dialect* const exported = exported_dialect(checkpoint);
  if (settings.has(own_encoder_setting)) {
    const std::string name = wanted.empty() && exported != nullptr ? exported->name() : wanted;
    const Dialect& own = recognise_own_model_encoder(
        checkpoint, settings, [&](const Checkpoint& part) { return dialect_of_encoder(part, name); }, report);
    if (&own == exported) report.recognised_by += by_metadata;
    return own;
  }
  if (!wanted.empty()) return recognise_wanted(checkpoint, wanted, report);
  if (exported != nullptr) {
    const Recognition recognition = recognise_as(*exported, checkpoint);
    if (recognition.score > 0) return chosen(*exported, checkpoint, recognition.reason + by_metadata, report);
  }
  for (const size_t wrapper : possible_wrapper_lengths(checkpoint)) {
    checkpoint.wrapper = wrapper;
    checkpoint.budget().charge_steps(checkpoint.tensors.size() * dialects().size());
    const Fit best = best_fit(checkpoint, nullptr);
    if (best.dialect != nullptr) return chosen(*best.dialect, checkpoint, best.recognition.reason, report);
  }
  checkpoint.wrapper = 0;
  refuse_model_type(checkpoint, settings);
  const Fit part = fit_below_prefix(checkpoint, nullptr, report);
  if (part.dialect != nullptr) return chosen(*part.dialect, checkpoint, part.recognition.reason, report);
  refuse(checkpoint);
}

}  // namespace linformer::convert
