#include "converter/dialects/static_embedding/static_embedding.h"

#include <algorithm>
#include <vector>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/sentence_transformers.h"
#include "converter/dialects/tensor_table.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

constexpr const char *module_rows = "embedding.weight", *model2vec_rows = "embeddings", *model2vec_mapping = "mapping",
                     *model2vec_weights = "weights", *model2vec_name = "model2vec";
// The longest text of models that read the whole text: more tokens than any text has, but few enough that a session's
// memory stays small.
constexpr int64_t any_length = int64_t{1} << 20;
constexpr int64_t model2vec_length = 512;

std::string same(std::string name) { return name; }

// Returns the setting `name`, which is a number of tokens. Throws Error if it is out of range.
std::optional<Setting<int64_t>> length_setting(const Settings& settings, const char* name) {
  std::optional<Setting<int64_t>> said = settings.integer(name);
  if (said && (said->value < 1 || said->value > int64_t{max_dimension})) {
    fail("the setting ", name, " is ", said->value, " (", said->source, "): 1 to ", max_dimension,
         " tokens are possible");
  }
  return said;
}

// Sets N to the first setting in `names` that is present, or to `usual` if none is. `source` says for the report where
// `usual` comes from.
void set_longest(const Settings& settings, std::initializer_list<const char*> names, int64_t usual, const char* source,
                 Conversion& conversion) {
  int64_t longest = usual;
  std::string from = source;
  for (const char* name : names) {
    const std::optional<Setting<int64_t>> said = length_setting(settings, name);
    if (!said) continue;
    longest = said->value;
    from = name + (", " + said->source);
    break;
  }
  conversion.description.encoder.max_tokens = static_cast<uint32_t>(longest);
  conversion.report.add_fact("longest text (N)", std::to_string(longest), from);
}

void set_sizes(Conversion& conversion) {
  ModelDescription& description = conversion.description;
  const TensorDescription& table = description.tensors[static_cast<size_t>(description.encoder.embedding.tokens)];
  description.encoder.vocab_size = static_cast<uint32_t>(table.shape[0]);
  description.encoder.d_model = static_cast<uint32_t>(table.shape[1]);
  conversion.report.add_fact("encoder", "none: rows of the token embedding", "names of the tensors");
}

// Adds the sentence embedding: as the settings of sentence-transformers say or, if there are none, the mean of the
// rows.
void add_vector(Conversion& conversion, TensorTable& tensors, const Settings& settings) {
  SentenceEmbedding& embedding = conversion.description.embedding;
  const std::optional<Setting<bool>> normalize = settings.flag("normalize");
  if (add_sentence_embedding(conversion, tensors, settings)) {
    if (normalize) embedding.normalize = normalize->value;
    return;
  }
  embedding.present = true;
  embedding.pooling = Pooling::mean;
  embedding.normalize = normalize && normalize->value;
  conversion.report.add_fact("sentence embedding", embedding.normalize ? "mean, divided by its length" : "mean",
                             normalize ? "normalize, " + normalize->source : "there is no setting normalize");
}

// Returns the elements of the tensor `mapping`: for each token, the index of its row in the table of embeddings, which
// has `rows` rows.
std::vector<int64_t> read_mapping(const Conversion& conversion, const Tensor& mapping, uint64_t rows) {
  if (mapping.shape.size() != 1) {
    fail("the tensor ", quote(mapping.name), " is ", shape_text(mapping),
         ", but one number for each token is expected");
  }
  conversion.checkpoint.budget().charge_memory(mapping.elements * (sizeof(float) + sizeof(int64_t)));
  std::vector<float> numbers(mapping.elements);
  conversion.checkpoint.read_numbers(mapping, 0, numbers);
  std::vector<int64_t> made;
  made.reserve(numbers.size());
  for (const float number : numbers) {
    if (!(number >= 0) || !(number < static_cast<float>(rows))) {
      fail("the tensor ", quote(mapping.name), " names the row ", number, ", but there are ", rows, " rows");
    }
    made.push_back(static_cast<int64_t>(number));
  }
  return made;
}

bool has(const Checkpoint& checkpoint, std::string_view wanted) {
  const size_t prefix = wrapper_prefix_length(checkpoint);
  return std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                     [&](const Tensor& tensor) { return tensor.name.substr(prefix) == wanted; });
}

// Returns whether all tensors of the checkpoint are in `known` or belong to modules of sentence-transformers. If there
// are others, the checkpoint is of another kind of model.
bool has_only(const Checkpoint& checkpoint, std::initializer_list<std::string_view> known) {
  const size_t prefix = wrapper_prefix_length(checkpoint);
  return std::all_of(checkpoint.tensors.begin(), checkpoint.tensors.end(), [&](const Tensor& tensor) {
    const std::string name = tensor.name.substr(prefix);
    return name.starts_with("sentence_") || std::find(known.begin(), known.end(), name) != known.end();
  });
}

// Returns the number of characters in the name that the tokenizer's files give a token. In byte-level BPE, the name has
// a character for each byte.
int64_t characters(std::string_view token, TokenizerKind kind) {
  if (kind == TokenizerKind::byte_bpe) return static_cast<int64_t>(token.size());
  return std::count_if(token.begin(), token.end(),
                       [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

// Returns the median number of characters of all tokens, added ones included, rounded as int(numpy.median()) rounds it.
uint32_t median_length(const TokenizerDescription& t) {
  const size_t tokens = t.token_offsets.size() - 1;
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < tokens; ++i) {
    lengths.push_back(
        characters({t.token_bytes.data() + t.token_offsets[i], t.token_offsets[i + 1] - t.token_offsets[i]}, t.kind));
  }
  std::vector<int32_t> ids(t.token_ids.begin(), t.token_ids.end());
  std::sort(ids.begin(), ids.end());
  for (const AddedToken& token : t.added_tokens) {
    const bool known =
        ids.empty() ? token.id < static_cast<int64_t>(tokens) : std::binary_search(ids.begin(), ids.end(), token.id);
    if (!known) lengths.push_back(characters(token.content, TokenizerKind::wordpiece));
  }
  std::sort(lengths.begin(), lengths.end());
  const size_t count = lengths.size();
  return static_cast<uint32_t>((lengths[(count - 1) / 2] + lengths[count / 2]) / 2);
}

}  // namespace

DialectFacts StaticEmbedding::facts() const {
  return {"static embeddings of sentence-transformers (StaticEmbedding)",
          "https://github.com/UKPLab/sentence-transformers",
          {{R"({"sentence_prompts": {"query": "query: "}})",
            "if config_sentence_transformers.json is missing: the prompts that are put before texts, by name"}}};
}

Recognition StaticEmbedding::recognise(const Checkpoint& checkpoint) const {
  if (!has(checkpoint, module_rows) || !has_only(checkpoint, {module_rows})) {
    return {0, std::string("only the tensor ") + module_rows + " (not so)"};
  }
  return {100, std::string("the tensor ") + module_rows + ", and no other"};
}

void StaticEmbedding::convert(Conversion& conversion) const {
  TensorTable tensors(conversion.checkpoint, same);
  const Settings settings = user_and_checkpoint_settings(conversion);
  conversion.description.encoder.embedding.tokens =
      conversion.weights.table("embedding.tokens", tensors.need(module_rows), {0, "tokens"}, {0, "width"});
  set_sizes(conversion);
  set_longest(settings, {"max_seq_length", tokenizer_length_setting}, any_length, "all of a text, as the module reads",
              conversion);
  add_vector(conversion, tensors, settings);
  tensors.report_or_reject_unused({}, "a StaticEmbedding", conversion.report);
}

DialectFacts Model2Vec::facts() const {
  return {
      "static embeddings of model2vec: potion, and models that users distilled themselves",
      "https://github.com/MinishLab/model2vec",
      {{R"({"normalize": true})", "if config.json is missing and vectors are to be divided by their length"},
       {R"({"max_length": 512})", "the number of tokens of a text that are read, if config.json does not have it"}}};
}

Recognition Model2Vec::recognise(const Checkpoint& checkpoint) const {
  const bool fits =
      has(checkpoint, model2vec_rows) && has_only(checkpoint, {model2vec_rows, model2vec_mapping, model2vec_weights});
  if (!fits) return {0, std::string("the tensor ") + model2vec_rows + ", and at most mapping and weights (not so)"};
  return {100, std::string("the tensor ") + model2vec_rows};
}

void Model2Vec::convert(Conversion& conversion) const {
  TensorTable tensors(conversion.checkpoint, same);
  const Settings settings = user_and_checkpoint_settings(conversion);
  const Tensor& rows = tensors.need(model2vec_rows);
  const Tensor *mapping = tensors.use(model2vec_mapping), *weights = tensors.use(model2vec_weights);
  EmbeddingDescription& embedding = conversion.description.encoder.embedding;
  if (mapping == nullptr && weights == nullptr && rows.type <= DataType::bf16) {
    embedding.tokens = conversion.weights.table("embedding.tokens", rows, {0, "tokens"}, {0, "width"});
  } else {
    std::vector<int64_t> mapped;
    std::vector<float> scales;
    if (mapping != nullptr) mapped = read_mapping(conversion, *mapping, dimension(rows, 0));
    if (weights != nullptr) {
      conversion.checkpoint.budget().charge_memory(weights->elements * sizeof(float));
      scales = conversion.weights.read(*weights);
    }
    embedding.tokens =
        conversion.weights.gathered_table("embedding.tokens", rows, std::move(mapped), std::move(scales));
    if (mapping != nullptr) conversion.weights.report("embedding.tokens", *mapping, "which row each token has");
    if (weights != nullptr) conversion.weights.report("embedding.tokens", *weights, "multiplied into the rows");
  }
  set_sizes(conversion);
  if (settings.is_null("max_length")) {
    set_longest(settings, {"max_seq_length"}, any_length, "max_length is null: all of a text", conversion);
  } else {
    set_longest(settings, {"max_seq_length", "max_length"}, model2vec_length, "model2vec's own", conversion);
  }
  add_vector(conversion, tensors, settings);
  tensors.report_or_reject_unused({}, "model2vec", conversion.report);
}

void adjust_static_embedding_tokenizer(ModelDescription* description, Report* report) {
  TokenizerDescription& tokenizer = description->tokenizer;
  if (!description->encoder.layers.empty() || tokenizer.kind == TokenizerKind::none) return;
  tokenizer.single_template = {template_first};
  tokenizer.pair_template = {template_first, template_second};
  tokenizer.pair_types.clear();
  report->notes.push_back("Nothing is put around texts: static embeddings have no use for special tokens.");
  if (description->dialect != model2vec_name) return;
  // Unknown tokens become pads, which the mean leaves out.
  description->encoder.pad_id = tokenizer.unk;
  tokenizer.pad = -1;
  description->embedding.characters_per_token = median_length(tokenizer);
  report->notes.push_back("Unknown tokens don't count, and a text that is cut to n tokens is first cut to n times " +
                          std::to_string(description->embedding.characters_per_token) +
                          " characters, as model2vec does.");
}

}  // namespace linformer::convert
