#include "sentiment_model.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/description.h"
#include "converter/writer/model_builder.h"

namespace linformer_test {
namespace {

using namespace linformer;
constexpr uint32_t d = sentiment_width, k = 4;

std::vector<float> scaled_identity(float scale) {
  std::vector<float> values(size_t{d} * d);
  for (uint32_t i = 0; i < d; ++i) values[size_t{i} * d + i] = scale;
  return values;
}

class Builder {
 public:
  Builder(const SentimentModel& shape, writer::ModelBuilder* builder) : shape_(shape), builder_(*builder) {}

  void encoder() {
    EncoderDescription& encoder = builder_.description.encoder;
    encoder.d_model = d;
    encoder.max_tokens = shape_.max_tokens;
    if (shape_.vectors) {
      encoder.embedding.vectors.width = d;
      encoder.embedding.prefix = builder_.add_floats("cls", {1, d}, std::vector<float>(d));
    } else {
      words();
    }
    vector();
    if (shape_.static_rows) return;

    Projection projection;
    projection.k = k;
    projection.weight =
        builder_.add_floats("E", {k, shape_.max_tokens}, std::vector<float>(size_t{k} * shape_.max_tokens, 1.f));
    encoder.projections = {projection};

    LayerDescription layer;
    AttentionDescription& attention = layer.attention;
    attention.heads = attention.kv_heads = 1;
    attention.head_dim = d;
    attention.scale = 0.25f;
    attention.query = linear("query", d, d, std::vector<float>(size_t{d} * d));
    attention.key = linear("key", d, d, std::vector<float>(size_t{d} * d));
    attention.value = linear("value", d, d, scaled_identity(1));
    attention.output = linear("output", d, d, scaled_identity(0.5f));
    attention.key_projections = attention.value_projections = {0};
    layer.attention_norm = norm("attention_norm");
    layer.ffn_in = linear("ffn_in", d, d, std::vector<float>(size_t{d} * d));
    layer.ffn_out = linear("ffn_out", d, d, std::vector<float>(size_t{d} * d));
    layer.ffn_norm = norm("ffn_norm");
    encoder.layers = {layer};
    if (!shape_.vectors && !shape_.not_finite) builder_.description.mlm.output = {encoder.embedding.tokens, absent};
  }

  void vector() {
    SentenceEmbedding& embedding = builder_.description.embedding;
    embedding.present = shape_.embedding || shape_.static_rows;
    embedding.normalize = shape_.embedding;
    for (const auto& [name, text] : shape_.prompts) embedding.prompts.push_back({name, text});
    embedding.default_prompt = shape_.default_prompt;
    embedding.excludes_prompt = shape_.excludes_prompt;
    embedding.characters_per_token = shape_.characters_per_token;
    if (shape_.static_rows) builder_.description.encoder.pad_id = 1;  // [UNK]
  }

  void words() {
    EncoderDescription& encoder = builder_.description.encoder;
    const uint32_t vocabulary = static_cast<uint32_t>(sentiment_words.size());
    encoder.vocab_size = vocabulary;
    encoder.pad_id = 0;
    std::vector<float> table(size_t{vocabulary} * d);
    const auto dimension = [&](uint32_t word, uint32_t i) -> float& { return table[size_t{word} * d + i]; };
    dimension(5, 0) = 1;  // good
    dimension(6, 1) = 1;  // bad
    dimension(0, 15) = 1;
    for (uint32_t word : {1u, 2u, 3u, 4u, 7u, 8u, 9u, 10u, 11u, 12u}) dimension(word, 2 + word % 8) = 0.5f;
    if (shape_.not_finite) {
      builder_.description.mlm.output = linear("mlm", vocabulary, d, table);
      dimension(12, 3) = NAN;
    }
    encoder.embedding.tokens = builder_.add_table("words", {vocabulary, d}, table);
    if (!shape_.token_types) return;
    std::vector<float> types(size_t{2} * d);
    types[d] = 2;
    encoder.embedding.token_types = builder_.add_table("types", {2, d}, types);
  }

  void heads() {
    ClassificationHead sentiment;
    sentiment.name = "sentiment";
    for (const std::string& label : shape_.labels) sentiment.labels.emplace_back(label);
    sentiment.kind = shape_.kind;
    std::vector<float> weights(size_t{3} * d);
    weights[0] = -1;
    weights[1] = 1;
    weights[2 * d] = 1;
    weights[2 * d + 1] = -1;
    sentiment.output = linear("sentiment", 3, d, weights);
    const float bias[] = {0, 0.05f, 0};
    sentiment.output.bias = builder_.add_floats("sentiment.bias", {3}, bias);
    ClassificationHead topic;
    topic.name = "topic";
    topic.output = linear("topic", 4, d, std::vector<float>(size_t{4} * d, 0.25f));
    const float topic_bias[] = {0, 1, 2, 0};
    topic.output.bias = builder_.add_floats("topic.bias", {4}, topic_bias);
    builder_.description.heads = {sentiment, topic};
    if (shape_.more_heads) more_heads();
    if (shape_.numbers) numbers();
    if (shape_.token_heads) token_heads();
  }

  void numbers() {
    std::vector<float> difference(d), both(size_t{2} * d), by(size_t{4} * d);
    difference[0] = both[0] = both[d + 1] = by[3 * d] = 1;
    difference[1] = both[1] = both[d] = by[3 * d + 1] = -1;
    ClassificationHead relevance, squashed, mood, better_by;
    relevance.name = "relevance";
    relevance.kind = HeadKind::score;
    relevance.output = linear("relevance", 1, d, difference);
    squashed = relevance;
    squashed.name = "squashed";
    squashed.labels = {"goodness"};
    squashed.score_activation = Activation::sigmoid;
    mood.name = "mood";
    mood.kind = HeadKind::regression;
    mood.labels = {"up", "down"};
    mood.output = linear("mood", 2, d, both);
    better_by.name = "better_by";
    better_by.kind = HeadKind::score;
    better_by.pairing = Pairing::product_difference;
    better_by.output = linear("better_by", 1, 4 * d, by);
    for (const ClassificationHead& head : {relevance, squashed, mood, better_by}) {
      builder_.description.heads.push_back(head);
    }
  }

  void more_heads() {
    ClassificationHead better;
    better.name = "better";
    better.labels = {"first", "second"};
    better.pooling = Pooling::mean;
    better.pairing = Pairing::product_difference;
    std::vector<float> weights(size_t{2} * 4 * d);
    weights[3 * d] = 1;           // the first text's value minus the second's
    weights[4 * d + 3 * d] = -1;  // the second text's value minus the first's
    better.output = linear("better", 2, 4 * d, weights);
    ClassificationHead words;
    words.name = "words";
    words.pooling = Pooling::none;
    words.output = linear("word_output", 2, d, std::vector<float>(size_t{2} * d, 0.5f));
    builder_.description.heads.push_back(better);
    builder_.description.heads.push_back(words);
  }

  void token_heads() {
    ClassificationHead entities, answers;
    entities.name = "entities";
    entities.labels = {"O", "B-GOOD", "I-GOOD", "B-BAD"};
    entities.pooling = answers.pooling = Pooling::none;
    std::vector<float> weights(size_t{4} * d);
    weights[d] = weights[3 * d + 1] = 4;
    entities.output = linear("entities", 4, d, weights);
    const float bias[] = {10.8f, 0, 0, 0};
    entities.output.bias = builder_.add_floats("entities.bias", {4}, bias);
    answers.name = "answers";
    answers.kind = HeadKind::regression;
    std::vector<float> ends(size_t{2} * d);
    ends[0] = ends[d + 9] = 4;
    answers.output = linear("answers", 2, d, ends);
    builder_.description.heads.push_back(entities);
    builder_.description.heads.push_back(answers);
  }

  void tokenizer() {
    offsets_ = {0};
    for (const std::string& word : sentiment_words) {
      bytes_ += word;
      offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
    }
    TokenizerDescription& tokenizer = builder_.description.tokenizer;
    tokenizer.kind = TokenizerKind::wordpiece;
    tokenizer.token_bytes = bytes_;
    tokenizer.token_offsets = offsets_;
    for (int32_t id = 0; id < 5; ++id) {
      AddedToken token;
      token.content = sentiment_words[static_cast<size_t>(id)];
      token.id = id;
      token.special = true;
      tokenizer.added_tokens.push_back(token);
    }
    tokenizer.pad = 0;
    tokenizer.unk = 1;
    tokenizer.bos = 2;
    tokenizer.eos = 3;
    tokenizer.mask = shape_.mask_token ? 4 : -1;
    tokenizer.single_template = {2, template_first, 3};
    if (shape_.static_rows) tokenizer.single_template = {template_first};
    tokenizer.pair_template = {2, template_first, 3, template_second, 3};
    if (shape_.token_types) tokenizer.pair_types = {0, 0, 0, 1, 1};
    tokenizer.lowercase = tokenizer.clean_text = tokenizer.strip_accents = true;
    tokenizer.continuing_prefix = "##";
  }

 private:
  Linear linear(const std::string& name, uint64_t out, uint64_t in, const std::vector<float>& values) {
    return {builder_.add_linear(name, out, in, values), absent};
  }
  Norm norm(const std::string& name) {
    Norm result;
    result.scale = builder_.add_floats(name + ".scale", {d}, std::vector<float>(d, 1.f));
    result.bias = builder_.add_floats(name + ".bias", {d}, std::vector<float>(d, 0.f));
    return result;
  }

  const SentimentModel& shape_;
  writer::ModelBuilder& builder_;
  std::string bytes_;
  std::vector<uint32_t> offsets_;
};

}  // namespace

void write_sentiment_model(const SentimentModel& shape, const std::string& path) {
  writer::ModelBuilder model(shape.type);
  Builder builder(shape, &model);
  model.description.producer = "tests/cli";
  model.description.dialect = "made up";
  builder.encoder();
  if (shape.heads) builder.heads();
  if (shape.tokenizer && !shape.vectors) builder.tokenizer();
  model.write(path);
}

std::string Folder::file(const std::string& name, const std::string& content) const {
  std::ofstream(path(name), std::ios::binary) << content;
  return path(name);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path())) names.push_back(entry.path().filename());
  return names;
}

}  // namespace linformer_test
