#include "research/spectrum_attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "base/checked.h"
#include "base/description.h"
#include "base/half.h"
#include "base/matrix.h"
#include "base/storage.h"
#include "command_line/errors.h"
#include "research/spectrum_lapack.h"

namespace linformer::research {
namespace {

using cli::DataError;

float element(ElementType type, const std::byte* data, uint64_t index) {
  if (type == ElementType::int8) return static_cast<float>(static_cast<int8_t>(data[index]));
  if (type == ElementType::f32) {
    float value;
    std::memcpy(&value, data + index * 4, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, data + index * 2, 2);
  return type == ElementType::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
}

const TensorDescription& tensor_of(const Model& model, TensorIndex index) {
  return model.description().tensors[static_cast<size_t>(index)];
}

int64_t inputs_of(const Model& model, const Linear& linear) {
  return static_cast<int64_t>(tensor_of(model, linear.weight).shape[1]);
}

// Reads columns [first, first + count) of W^T as a matrix [in, count]. These are the weights of one head.
void read_weight(const Model& model, const Linear& linear, int64_t first, int64_t count, std::vector<double>* out) {
  const TensorDescription& tensor = tensor_of(model, linear.weight);
  const std::byte* data = model.data(linear.weight);
  const int64_t inputs = inputs_of(model, linear);
  StoredParts parts;  // compute_part_offsets() can't fail, because the model's file was checked when it was loaded.
  const bool scaled = tensor.type == ElementType::int8 &&
                      compute_part_offsets(tensor.type, tensor.layout, tensor.shape[0], tensor.shape[1], &parts);
  out->resize(static_cast<size_t>(inputs * count));
  for (int64_t i = 0; i < inputs; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      const uint64_t column = static_cast<uint64_t>(first + j);
      const uint64_t place =
          element_index(tensor.type, tensor.layout, static_cast<uint64_t>(inputs), column, static_cast<uint64_t>(i));
      const float scale = scaled ? element(ElementType::f32, data + parts.scales, column) : 1.f;
      (*out)[static_cast<size_t>(i * count + j)] = static_cast<double>(scale * element(tensor.type, data, place));
    }
  }
}

double float_at(const Model& model, TensorIndex index, int64_t i) {
  return static_cast<double>(element(ElementType::f32, model.data(index), static_cast<uint64_t>(i)));
}

void normalize(const Model& model, const Norm& norm, double* row, int64_t width) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; norm.kind == NormKind::layer && i < width; ++i) mean += row[i] / static_cast<double>(width);
  for (int64_t i = 0; i < width; ++i) variance += (row[i] - mean) * (row[i] - mean);
  variance /= static_cast<double>(width);
  const double factor = 1 / std::sqrt(variance + static_cast<double>(norm.epsilon));
  for (int64_t i = 0; i < width; ++i) {
    row[i] = (row[i] - mean) * factor * float_at(model, norm.scale, i);
    if (norm.bias != absent) row[i] += float_at(model, norm.bias, i);
  }
}

// Applies rotary position embeddings (AttentionDescription::rotary_base): channels j and j + width / 2 of row r are
// rotated as a pair by the angle r * scale * base^(-2 j / width).
void rotate(std::vector<double>* rows, int64_t width, double base, double scale) {
  const int64_t half = width / 2, count = static_cast<int64_t>(rows->size()) / width;
  for (int64_t r = 0; r < count; ++r) {
    double* row = rows->data() + r * width;
    for (int64_t j = 0; j < half; ++j) {
      const double angle =
          static_cast<double>(r) * scale * std::pow(base, -static_cast<double>(j) / static_cast<double>(half));
      const double cosine = std::cos(angle), sine = std::sin(angle), first = row[j], second = row[j + half];
      row[j] = first * cosine - second * sine;
      row[j + half] = second * cosine + first * sine;
    }
  }
}

// Replaces row[first, end) by its softmax and the other columns, which are hidden from this row, by 0. Returns whether
// the sum is finite.
bool softmax(double* row, int64_t first, int64_t end, int64_t columns) {
  const double highest = *std::max_element(row + first, row + end);
  double sum = 0;
  for (int64_t j = first; j < end; ++j) sum += row[j] = std::exp(row[j] - highest);
  for (int64_t j = first; j < end; ++j) row[j] /= sum;
  std::fill(row, row + first, 0.0);
  std::fill(row + end, row + columns, 0.0);
  return std::isfinite(sum);
}

}  // namespace

void require_full_attention(const Model& model, const std::string& path) {
  const EncoderDescription& encoder = model.description().encoder;
  if (encoder.layers.empty()) throw DataError(path + ": this model has no layers, so it has no attention");
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    const AttentionDescription& attention = encoder.layers[i].attention;
    const std::string layer = path + ": layer " + std::to_string(i) + " of this model ";
    for (const uint32_t index : attention.key_projections) {
      const Projection& projection = encoder.projections[index];
      if (projection.kind == ProjectionKind::none) continue;
      const std::string size = projection.kind == ProjectionKind::linear
                                   ? "to k = " + std::to_string(projection.k) + " rows"
                                   : "by windows of " + std::to_string(projection.kernel) + " rows";
      throw DataError(layer + "compresses its keys " + size +
                      " already, so it has no n x n attention matrix; give a model with full attention, such as the "
                      "one that this model was made from, and compare the k that it needs with this k");
    }
    if (attention.key_source == KeySource::encoder_states) {
      throw DataError(layer +
                      "reads keys from encoder states, not from the text; give a model with self-attention only");
    }
    for (const Norm* norm : {&attention.query_norm, &attention.key_norm}) {
      if (!norm->present() || tensor_of(model, norm->scale).shape.front() == attention.head_dim) continue;
      throw DataError(layer + "normalises the queries and keys of all heads at once, which spectrum can't compute");
    }
  }
}

AttentionMatrices::AttentionMatrices(const Model& model, int64_t hidden_bytes)
    : model_(model), encoder_(model.description().encoder), hidden_bytes_(hidden_bytes) {
  layers_.resize(encoder_.layers.size());
}

int AttentionMatrices::heads(int layer) const {
  return static_cast<int>(encoder_.layers[static_cast<size_t>(layer)].attention.heads);
}

size_t AttentionMatrices::total_heads() const {
  size_t heads = 0;
  for (const LayerDescription& layer : encoder_.layers) heads += layer.attention.heads;
  return heads;
}

int64_t AttentionMatrices::value_width(int layer) const {
  return encoder_.layers[static_cast<size_t>(layer)].attention.head_dim;
}

void AttentionMatrices::run(Session* session, Tokens tokens) {
  rows_ = session->output_rows(static_cast<int64_t>(tokens.size()));
  const Tokens texts[] = {tokens};
  const int64_t room = hidden_bytes_ / static_cast<int64_t>(sizeof(float));
  for (int first = 0, end = 0; first < layers(); first = end) {
    std::vector<Shape> shapes;
    int64_t floats = 0;
    for (end = first; end < layers(); ++end) {
      const Shape shape = cli::value_or_throw(session->shape(Output::hidden({}, end), texts));
      if (end > first && floats + shape.floats() > room) break;
      shapes.push_back(shape);
      floats += shape.floats();
    }
    hidden_.resize(static_cast<size_t>(floats));
    std::vector<Output> outputs;
    std::span<float> rest = hidden_;
    for (const Shape& shape : shapes) {
      outputs.push_back(Output::hidden(rest, first + static_cast<int>(outputs.size())));
      rest = rest.subspan(static_cast<size_t>(shape.floats()));
    }
    cli::check(session->run(texts, outputs));
    for (const Output& output : outputs) {
      store_input(output.layer, output.values.data(), shapes[static_cast<size_t>(output.layer - first)].columns);
    }
  }
}

// Computes the input of a layer's attention from the rows that enter the layer.
void AttentionMatrices::store_input(int index, const float* rows, int64_t stride) {
  const LayerDescription& description = encoder_.layers[static_cast<size_t>(index)];
  Layer& layer = layers_[static_cast<size_t>(index)];
  layer.width = inputs_of(model_, description.attention.query);
  layer.input.resize(static_cast<size_t>(rows_ * layer.width));
  // A reversible layer's attention reads the second of two streams.
  const int64_t first = encoder_.residual == ResidualKind::reversible ? stride / 2 : 0;
  const bool norm_in_front = encoder_.norm_placement == NormPlacement::pre && description.attention_norm.present();
  for (int64_t r = 0; r < rows_; ++r) {
    double* row = layer.input.data() + r * layer.width;
    std::copy_n(rows + r * stride + first, layer.width, row);
    if (norm_in_front) normalize(model_, description.attention_norm, row, layer.width);
  }
}

void AttentionMatrices::project(const Linear& linear, int64_t first, int64_t head_dim, const Layer& layer,
                                std::vector<double>* weight, std::vector<double>* out) const {
  read_weight(model_, linear, first, head_dim, weight);
  out->resize(static_cast<size_t>(rows_ * head_dim));
  multiply(rows_, head_dim, layer.width, 1, layer.input.data(), weight->data(), false, out->data());
  if (linear.bias == absent) return;
  for (int64_t j = 0; j < head_dim; ++j) {
    const double bias = float_at(model_, linear.bias, first + j);
    for (int64_t r = 0; r < rows_; ++r) (*out)[static_cast<size_t>(r * head_dim + j)] += bias;
  }
}

void AttentionMatrices::add_position_bias(TensorIndex bias, int64_t head, int64_t row, double* scores) const {
  const int64_t longest = encoder_.max_tokens;
  const int64_t own = head * (2 * longest - 1) + longest - 1;  // The index of the bias for the distance 0.
  for (int64_t j = 0; j < rows_; ++j) scores[j] += float_at(model_, bias, own + j - row);
}

void AttentionMatrices::matrix(int layer, int head, Scratch* scratch, std::vector<double>* matrix) const {
  const AttentionDescription& attention = encoder_.layers[static_cast<size_t>(layer)].attention;
  const Layer& input = layers_[static_cast<size_t>(layer)];
  const int64_t head_dim = attention.head_dim, key_head = head * attention.kv_heads / attention.heads;
  project(attention.query, head * head_dim, head_dim, input, &scratch->weight, &scratch->queries);
  project(attention.key, key_head * head_dim, head_dim, input, &scratch->weight, &scratch->keys);
  for (const auto& [norm, rows] :
       {std::pair{&attention.query_norm, &scratch->queries}, std::pair{&attention.key_norm, &scratch->keys}}) {
    for (int64_t r = 0; norm->present() && r < rows_; ++r) {
      normalize(model_, *norm, rows->data() + r * head_dim, head_dim);
    }
  }
  if (attention.rotary_base != 0) {
    for (std::vector<double>* turned : {&scratch->queries, &scratch->keys}) {
      rotate(turned, head_dim, static_cast<double>(attention.rotary_base), static_cast<double>(attention.rotary_scale));
    }
  }
  matrix->resize(static_cast<size_t>(rows_ * rows_));
  multiply(rows_, rows_, head_dim, static_cast<double>(attention.scale), scratch->queries.data(), scratch->keys.data(),
           true, matrix->data());
  bool finite = true;
  const int64_t window = attention.window == 0 ? rows_ : int64_t{attention.window};
  for (int64_t r = 0; r < rows_; ++r) {
    double* row = matrix->data() + r * rows_;
    if (attention.position_bias != absent) add_position_bias(attention.position_bias, head, r, row);
    const int64_t first = std::max<int64_t>(r - window, 0), end = std::min(r + window + 1, rows_);
    finite = softmax(row, first, attention.causal ? r + 1 : end, rows_) && finite;
  }
  if (!finite) {
    throw DataError("the attention of layer " + std::to_string(layer) + ", head " + std::to_string(head) +
                    " has numbers that are not finite; check the model's weights");
  }
}

void AttentionMatrices::values(int layer, int head, Scratch* scratch, std::vector<double>* values) const {
  const AttentionDescription& attention = encoder_.layers[static_cast<size_t>(layer)].attention;
  const int64_t head_dim = attention.head_dim, value_head = head * attention.kv_heads / attention.heads;
  project(attention.value_is_key ? attention.key : attention.value, value_head * head_dim, head_dim,
          layers_[static_cast<size_t>(layer)], &scratch->weight, values);
  if (!std::all_of(values->begin(), values->end(), [](double value) { return std::isfinite(value); })) {
    throw DataError("the values of layer " + std::to_string(layer) + ", head " + std::to_string(head) +
                    " have numbers that are not finite; check the model's weights");
  }
}

void AttentionMatrices::for_each_head(int threads, const std::function<HeadTask()>& make_task,
                                      const HeadDone& done) const {
  std::vector<std::pair<size_t, size_t>> heads_of_layers;
  for (size_t l = 0; l < layers_.size(); ++l) {
    for (size_t h = 0; h < encoder_.layers[l].attention.heads; ++h) heads_of_layers.emplace_back(l, h);
  }
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // Protects `done` and `failure`.
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      const OneBlasThread one;
      const HeadTask task = make_task();
      for (size_t i = next++; i < heads_of_layers.size(); i = next++) {
        task(heads_of_layers[i].first, heads_of_layers[i].second);
        const std::lock_guard lock(mutex);
        done();
      }
    } catch (...) {
      next = heads_of_layers.size();
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace linformer::research
