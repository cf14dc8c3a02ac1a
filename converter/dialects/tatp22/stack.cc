#include "converter/dialects/tatp22/stack.h"

#include "base/description.h"
#include "converter/readers/error.h"

namespace linformer::convert::tatp22 {

namespace {

const char* prefix_of(Part part) { return part == Part::model ? "" : part == Part::encoder ? "encoder." : "decoder."; }

}  // namespace

Stack::Stack(Conversion& conversion, TensorTable& tensors, const Settings& settings, Part part,
             EncoderDescription* encoder, const OwnModel* own)
    : conversion_(conversion),
      tensors_(tensors),
      settings_(settings),
      part_(part),
      encoder_(*encoder),
      own_(own),
      prefix_(prefix_of(part)),
      projections_(*encoder, conversion.weights, ProjectionOrder::after_linear) {
  has_tokens_ = tensors_.any(prefix_ + "to_token_emb.*");
  projects_ = tensors_.any(prefix_ + "linformer.project_in.*");
  modules_ = prefix_ + (has_tokens_ ? "linformer." : "") + (projects_ ? "fn." : "") + "seq.";
  pre_norm_ = tensors_.any(modules_ + "*.fn.fn.**");
}

std::string Stack::fn_prefix(uint32_t module) const {
  return modules_ + std::to_string(module) + (pre_norm_ ? ".fn.fn." : ".fn.");
}

std::string Stack::role(size_t layer, const char* name) const {
  return (part_ == Part::decoder ? "decoder.layers[" : "layers[") + std::to_string(layer) + "]." + name;
}

std::string Stack::fact_name(const char* name) const {
  return (part_ == Part::decoder ? "decoder " : part_ == Part::encoder ? "encoder " : "") + std::string(name);
}

void Stack::read() {
  read_modules();
  check_projections_saved();
  arguments_ = arguments_of(settings_, part_, conversion_.report);
  if (arguments_.decoder_mode && attentions_.size() % 2 != 0) {
    fail("the setting decoder_mode is true, which makes two attentions for each layer, but ", quote(modules_ + "*"),
         " has an odd number of attentions, ", attentions_.size(), ": the settings belong to another model");
  }
  if (!arguments_.full_attention) read_sharing();
  read_sizes();
  add_embedding();
  const uint32_t modules = count_modules(tensors_, modules_);
  for (uint32_t module = 0; module < modules; ++module) {
    if (tensors_.any(fn_prefix(module) + "to_q.**")) {
      add_attention(module);
    } else {
      add_feed_forward(module);
    }
  }
  if (projects_) {
    const Size embedding{conversion_.description.tensors[static_cast<size_t>(encoder_.embedding.tokens)].shape[1],
                         "emb_dim"};
    encoder_.output = read_linear(conversion_, tensors_, part_ == Part::decoder ? "decoder.output" : "output",
                                  prefix_ + "linformer.project_out", embedding, width());
  }
  check_causal();
  check_settings();
  if (!arguments_.full_attention) report_projections();
}

void Stack::read_modules() {
  const uint32_t modules = count_modules(tensors_, modules_);
  for (uint32_t module = 0; module < modules; ++module) {
    if (tensors_.any(fn_prefix(module) + "to_q.**")) attentions_.push_back(module);
  }
  if (attentions_.empty())
    fail("no tensor is named ", quote(modules_ + "*.fn.to_q.*"), ": the checkpoint is incomplete");
}

void Stack::check_projections_saved() const {
  if (tensors_.any(modules_ + "*.fn.heads.**") || tensors_.any(modules_ + "*.fn.fn.heads.**")) return;
  const std::string name = setting_name(part_, "full_attention");
  const std::optional<Setting<bool>> full = settings_.flag(name);
  if (full && full->value) return;
  fail("the file has no projections (", fn_prefix(attentions_[0]),
       "heads.*.E.*): a model made with method \"no_params\" draws them at random, and linformer-pytorch does not save "
       "them with the weights, so they can't be known. A model that was made with full attention has none either: for "
       "such a model give ",
       config_option("{\"" + name + "\": true}"));
}

// Finds out how projections are shared. safetensors keeps only the first name, in alphabetical order, of a shared
// tensor, so the names in the file tell which projections were shared.
void Stack::read_sharing() {
  if (!conversion_.checkpoint.format.starts_with("safetensors")) return;
  size_t in_all = 0, keys = 0, values = 0, heads = 0;
  for (const uint32_t module : attentions_) {
    heads += count_modules(tensors_, fn_prefix(module) + "to_q.");
    keys += tensors_.any(fn_prefix(module) + "heads.0.E.weight");
    values += tensors_.any(fn_prefix(module) + "heads.0.F.weight");
  }
  const std::string patterns[] = {modules_ + "*.fn.heads.*.*.weight", modules_ + "*.fn.fn.heads.*.*.weight"};
  for (const std::string& name : tensors_.names(modules_)) {
    if (!matches(name, patterns[0]) && !matches(name, patterns[1])) continue;
    ++in_all;
    only_projection_ = name.substr(0, name.rfind('.'));
  }
  const size_t attentions = attentions_.size();
  if (in_all == 2 * heads) return;
  if (in_all == 1) {
    kept_ = Kept::one;
  } else if (in_all == attentions && keys == attentions) {
    kept_ = Kept::first_key;
  } else if (in_all == 2 * attentions && keys == attentions && values == attentions) {
    kept_ = Kept::first_head;
  } else {
    return;
  }
  conversion_.report.notes.push_back("Of the projections below " + modules_ + " the file has " +
                                     std::to_string(in_all) + " for " + std::to_string(2 * heads) +
                                     " uses: they are taken as shared, as safetensors keeps one name of such tensors.");
}

std::string Stack::projection_name(uint32_t module, uint32_t head, const char* side) const {
  const std::string heads = fn_prefix(module) + "heads.";
  switch (kept_) {
    case Kept::one:
      return only_projection_;
    case Kept::first_key:
      return heads + "0.E";
    case Kept::first_head:
      return heads + "0." + side;
    case Kept::all:
      break;
  }
  return heads + std::to_string(head) + "." + side;
}

void Stack::read_sizes() {
  const Tensor& query = tensors_.need(fn_prefix(attentions_[0]) + "to_q.0.weight");
  encoder_.d_model = width_ = dimension(query, 1);
  const Tensor* projection = tensors_.find(projection_name(attentions_[0], 0, "E") + ".weight");
  std::string source;
  if (projection != nullptr && projection->shape.size() == 2) {
    encoder_.max_tokens = dimension(*projection, 1);
    check_agreement(settings_, setting_name(part_, "input_size").c_str(), encoder_.max_tokens,
                    "columns of projections");
    source = "columns of " + projection->name;
  } else {
    encoder_.max_tokens = input_size_of(settings_, part_,
                                        arguments_.full_attention ? "it has full attention"
                                                                  : "it compresses by "
                                                                    "convolution");
    source = setting_name(part_, "input_size");
  }
  Report& report = conversion_.report;
  report.add_fact(fact_name("d_model"), std::to_string(encoder_.d_model), "shape of " + query.name);
  report.add_fact(fact_name("longest text (N)"), std::to_string(encoder_.max_tokens), source);
  report.add_fact(fact_name("attentions"), std::to_string(attentions_.size()), "names of the tensors");
  report.add_fact(fact_name("layout"), pre_norm_ ? "before 2020-09-14 (pre-norm)" : "since 2020-09-14 (post-norm)",
                  "names of the tensors");
  encoder_.norm_placement = pre_norm_ ? NormPlacement::pre : NormPlacement::post;
}

void Stack::add_embedding() {
  EmbeddingDescription& embedding = encoder_.embedding;
  if (!has_tokens_) {
    embedding.vectors.width = encoder_.d_model;
    return;
  }
  if (own_ != nullptr) {
    const std::optional<Tensor> positions = own_model_position_table(tensors_, *own_, own_position_table);
    if (positions && dimension(*positions, 0) < encoder_.max_tokens) {
      fail("the tensor ", quote(positions->name), " is ", shape_text(*positions), ", but the encoder takes texts of ",
           encoder_.max_tokens, " tokens");
    }
    return add_own_model_embedding(conversion_, tensors_, *own_, token_embedding, positions);
  }
  const std::string role = part_ == Part::decoder ? "decoder.embedding." : "embedding.";
  const Tensor& tokens = tensors_.need(prefix_ + "to_token_emb.weight");
  embedding.tokens = conversion_.weights.table(role + "tokens", tokens, {0, "num_tokens"}, {0, "emb_dim"});
  encoder_.vocab_size = dimension(tokens, 0);
  const uint32_t emb_dim = dimension(tokens, 1);
  embedding.position_kind = PositionKind::sinusoidal_halves;
  embedding.position_base = 100000.f;
  embedding.positions = conversion_.weights.floats(role + "positions", tensors_.need(prefix_ + "pos_emb.inv_freq"),
                                                   {{(emb_dim + 1) / 2, "half of emb_dim"}});
  if (projects_) {
    embedding.factor = read_linear(conversion_, tensors_, role + "factor", prefix_ + "linformer.project_in",
                                   {encoder_.d_model, "channels"}, {emb_dim, "emb_dim"});
  }
  conversion_.report.add_fact(fact_name("vocabulary"), std::to_string(encoder_.vocab_size), "shape of " + tokens.name);
}

void Stack::add_attention(uint32_t module) {
  const size_t index = encoder_.layers.size();
  LayerDescription& layer = encoder_.layers.emplace_back();
  AttentionDescription& attention = layer.attention;
  const bool cross = arguments_.decoder_mode && index % 2 == 1;
  attention.key_source = cross ? KeySource::encoder_states : KeySource::own;
  attention.causal = arguments_.causal && (cross || !arguments_.decoder_mode);
  // LinformerEncDec passes its masks only to the encoder.
  attention.row_mask = part_ == Part::decoder ? RowMask::none : RowMask::zeroed;
  attention.output_activation = pre_norm_ ? arguments_.activation : Activation::none;
  layer.activation = pre_norm_ ? Activation::gelu : arguments_.activation;
  add_heads(module, &attention);
  const uint32_t in = width_;
  add_output(module, &attention, &width_);
  layer.attention_resample = read_resample_linear(module, role(index, "attention_resample"), in, width_);
  layer.attention_norm = read_norm(conversion_, tensors_, role(index, "attention_norm"),
                                   modules_ + std::to_string(module) + (pre_norm_ ? ".fn.norm" : ".norm"),
                                   {pre_norm_ ? in : width_, "width of the layer"});
}

void Stack::add_heads(uint32_t module, AttentionDescription* attention) {
  const size_t index = encoder_.layers.size() - 1;
  const std::string name = fn_prefix(module);
  attention->heads = attention->kv_heads = count_modules(tensors_, name + "to_q.");
  attention->head_dim = dimension(tensors_.need(name + "to_q.0.weight"), 0);
  attention->scale = usual_scale(attention->head_dim);
  attention->query = heads_linear(module, "query", *attention, width());
  Size source = width();
  if (attention->key_source == KeySource::encoder_states) {
    if (encoder_.encoder_states_width == 0)
      encoder_.encoder_states_width = dimension(tensors_.need(name + "to_k.0.weight"), 1);
    source = {encoder_.encoder_states_width, "width of the rows that a decoder attends to"};
  }
  attention->key = heads_linear(module, "key", *attention, source);
  attention->value = heads_linear(module, "value", *attention, source);
  if (arguments_.full_attention) {
    Projection none;
    none.kind = ProjectionKind::none;
    none.order = ProjectionOrder::after_linear;
    attention->key_projections = attention->value_projections = {add_projection(none)};
    return;
  }
  for (uint32_t head = 0; head < attention->heads; ++head) {
    const auto add = [&](const char* list, const char* side) {
      return read_projection(role(index, list) + "[" + std::to_string(head) + "]", projection_name(module, head, side),
                             attention->head_dim);
    };
    attention->key_projections.push_back(add("attention.key_projections", "E"));
    attention->value_projections.push_back(add("attention.value_projections", "F"));
  }
  attention->key_projections = collapse_equal_projections(std::move(attention->key_projections));
  attention->value_projections = collapse_equal_projections(std::move(attention->value_projections));
}

// Adds one Linear for the heads H of to_q.H, to_k.H or to_v.H, which have no biases.
Linear Stack::heads_linear(uint32_t module, const char* name, const AttentionDescription& attention, Size in) {
  std::vector<Tensor> parts;
  for (uint32_t head = 0; head < attention.heads; ++head) {
    const Tensor& part = tensors_.need(fn_prefix(module) + "to_" + name[0] + "." + std::to_string(head) + ".weight");
    if (dimension(part, 0) != attention.head_dim) {
      fail("the tensor ", quote(part.name), " is ", shape_text(part), ", other heads have width ", attention.head_dim);
    }
    parts.push_back(part);
  }
  const Size out{uint64_t{attention.heads} * attention.head_dim, "heads x width of a head"};
  return conversion_.weights.stacked_linear(role(encoder_.layers.size() - 1, "attention.") + name, parts, {}, out, in);
}

void Stack::add_output(uint32_t module, AttentionDescription* attention, uint32_t* width_out) {
  const std::string name = fn_prefix(module) + "w_o", path = role(encoder_.layers.size() - 1, "attention.output");
  const Size heads{uint64_t{attention->heads} * attention->head_dim, "heads x width of a head"};
  if (!tensors_.any(name + "_1.*")) {
    attention->output = read_linear(conversion_, tensors_, path, name, {0, "channels"}, heads);
    *width_out = dimension(tensors_.need(name + ".weight"), 0);
    return;
  }
  attention->output = read_linear(conversion_, tensors_, path, name + "_1", {0, "w_o_intermediate_dim"}, heads);
  const Size between{dimension(tensors_.need(name + "_1.weight"), 0), "w_o_intermediate_dim"};
  attention->output_second =
      read_linear(conversion_, tensors_, path + "_second", name + "_2", {0, "channels"}, between);
  *width_out = dimension(tensors_.need(name + "_2.weight"), 0);
}

uint32_t Stack::read_projection(const std::string& role, const std::string& name, uint32_t head_dim) {
  const Tensor& weight = tensors_.need(name + ".weight");
  const Tensor& bias = tensors_.need(name + ".bias");
  WeightWriter& weights = conversion_.weights;
  if (weight.shape.size() != 3) return projections_.add(role, weight, &bias);
  const Size width{head_dim, "width of a head"};
  Projection made;
  made.kind = ProjectionKind::convolution;
  made.order = ProjectionOrder::after_linear;
  made.weight = weights.floats(role + ".weight", permuted(weight, {2, 0, 1}), {{0, "kernel"}, width, width});
  made.bias = weights.floats(role + ".bias", bias, {width});
  made.kernel = made.stride = dimension(weight, 2);
  if (made.kernel > encoder_.max_tokens) {
    fail("the tensor ", quote(weight.name), " is ", shape_text(weight), ", wider than the longest text of ",
         encoder_.max_tokens, " (", setting_name(part_, "input_size"), "): the settings belong to another model");
  }
  made.k = (encoder_.max_tokens - made.kernel) / made.stride + 1;
  return add_projection(made);
}

uint32_t Stack::add_projection(const Projection& projection) {
  const auto next = static_cast<uint32_t>(encoder_.projections.size());
  const auto [place, added] =
      other_projections_.emplace(std::tuple(projection.kind, projection.weight, projection.bias), next);
  if (added) encoder_.projections.push_back(projection);
  return place->second;
}

void Stack::add_feed_forward(uint32_t module) {
  const std::string name = fn_prefix(module);
  if (!tensors_.any(name + "w_1.*")) {
    fail("the tensors ", quote(name + "*"), " are neither an attention (to_q) nor a feed-forward layer (w_1)");
  }
  if (encoder_.layers.empty() || encoder_.layers.back().ffn_in.present()) {
    fail("the feed-forward layer ", quote(name + "*"), " does not follow an attention");
  }
  LayerDescription& layer = encoder_.layers.back();
  const size_t index = encoder_.layers.size() - 1;
  const uint32_t in = width_;
  layer.ffn_in = read_linear(conversion_, tensors_, role(index, "ffn_in"), name + "w_1", {0, "dim_ff"}, width());
  const Size inner{dimension(tensors_.need(name + "w_1.weight"), 0), "dim_ff"};
  layer.ffn_out = read_linear(conversion_, tensors_, role(index, "ffn_out"), name + "w_2", {0, "channels"}, inner);
  width_ = dimension(tensors_.need(name + "w_2.weight"), 0);
  layer.ffn_resample = read_resample_linear(module, role(index, "ffn_resample"), in, width_);
  layer.ffn_norm = read_norm(conversion_, tensors_, role(index, "ffn_norm"),
                             modules_ + std::to_string(module) + (pre_norm_ ? ".fn.norm" : ".norm"),
                             {pre_norm_ ? in : width_, "width of the layer"});
}

// Reads the Linear that changes the residual's width from `in` to `out`. If the widths are equal, it may be absent.
Linear Stack::read_resample_linear(uint32_t module, const std::string& role, uint32_t in, uint32_t out) {
  const std::string name = modules_ + std::to_string(module) + ".resample";
  if (in == out && !tensors_.any(name + ".*")) return {};
  return read_linear(conversion_, tensors_, role, name, {out, "width of the layer's output"},
                     {in, "width of the layer's input"});
}

// Throws Error for a causal model that linformer-pytorch can't run. Its causal mask has dim_k columns for every layer,
// so a layer with another number of compressed rows fails.
void Stack::check_causal() const {
  if (!arguments_.causal || arguments_.full_attention) return;
  const std::optional<Setting<int64_t>> said = settings_.integer(setting_name(part_, "dim_k"));
  const int64_t k = said ? said->value : int64_t{encoder_.projections[0].k};
  for (const Projection& projection : encoder_.projections) {
    if (projection.k == k) continue;
    fail("the model is causal with ", k, " compressed positions, but a projection has ", projection.k,
         ": linformer-pytorch can't run such a model, so there is nothing to reproduce");
  }
}

void Stack::report_projections() const {
  size_t uses = 0;
  bool same = true;
  for (const LayerDescription& layer : encoder_.layers) {
    uses += size_t{2} * layer.attention.heads;
    same = same && layer.attention.key_projections == layer.attention.value_projections;
  }
  conversion_.report.add_fact(
      fact_name("projections"),
      std::to_string(encoder_.projections.size()) + " distinct for " + std::to_string(uses) + " uses",
      same ? "values: keys and values share them" : "values");
}

void Stack::check_settings() {
  const auto check = [&](const char* name, int64_t from_tensors, const char* what) {
    check_agreement(settings_, setting_name(part_, name).c_str(), from_tensors, what);
  };
  const LayerDescription& first = encoder_.layers[0];
  const auto rows = [&](const Linear& linear) {
    return static_cast<int64_t>(conversion_.description.tensors[static_cast<size_t>(linear.weight)].shape[0]);
  };
  check("channels", encoder_.d_model, "channels");
  check("nhead", first.attention.heads, "heads");
  check("depth", static_cast<int64_t>(attentions_.size() / (arguments_.decoder_mode ? 2 : 1)),
        arguments_.decoder_mode ? "pairs of attentions" : "attentions");
  if (has_tokens_) check("num_tokens", encoder_.vocab_size, "tokens");
  if (first.ffn_in.present()) check("dim_ff", rows(first.ffn_in), "channels inside the feed-forward layer");
  if (arguments_.full_attention) return;
  const Projection& projection = encoder_.projections[0];
  const std::string name = setting_name(part_, "dim_k");
  if (projection.kind == ProjectionKind::linear) {
    check("dim_k", projection.k, "compressed positions");
  } else if (const std::optional<Setting<int64_t>> k = settings_.integer(name);
             k && (k->value < 1 || encoder_.max_tokens / k->value != projection.kernel)) {
    fail("the settings ", name, " ", k->value, " and ", setting_name(part_, "input_size"), " ", encoder_.max_tokens,
         " do not give the convolution's kernel of ", projection.kernel, ": the settings belong to another model");
  }
}

std::optional<Linear> Stack::logits() {
  const std::string name = prefix_ + "to_logits";
  if (!tensors_.any(name + ".*")) return std::nullopt;
  const uint64_t emb_dim =
      projects_ ? conversion_.description.tensors[static_cast<size_t>(encoder_.output.weight)].shape[0] : width_;
  return read_linear(conversion_, tensors_, "mlm.output", name, {encoder_.vocab_size, "num_tokens"},
                     {emb_dim, "emb_dim"});
}

std::vector<std::string> Stack::unused_name_patterns() const {
  if (!arguments_.full_attention) return {};
  const std::string heads = modules_ + (pre_norm_ ? "*.fn.fn.heads.*" : "*.fn.heads.*");
  return {heads + ".E.*", heads + ".F.*"};
}

}  // namespace linformer::convert::tatp22
