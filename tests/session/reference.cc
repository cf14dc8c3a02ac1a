#include "session/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/description.h"

namespace linformer_test {
namespace {

using namespace linformer;

double widen(ElementType type, const std::byte* at) {
  if (type == ElementType::int8) return static_cast<int8_t>(*at);
  if (type == ElementType::f32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  if (type == ElementType::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::leaky_relu:
      return x > 0 ? x : 0.01 * x;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return NAN;
}

class Encoder {
 public:
  // linear() and norm() don't read `ids`.
  explicit Encoder(const Model& model, std::span<const int32_t> ids = {})
      : model_(model), ids_(ids), d_(model.description().encoder.d_model) {}

  Matrix linear(const Linear& l, const Matrix& x, bool with_bias = true) const {
    const Matrix w = reference_tensor(model_, l.weight);
    const auto& shape = model_.description().tensors[l.weight].shape;
    const size_t outputs = shape[0], inputs = shape[1], rows = x.size() / inputs;
    Matrix y(rows * outputs, 0.0);
    const Matrix b = l.bias != absent && with_bias ? reference_tensor(model_, l.bias) : Matrix(outputs, 0.0);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t o = 0; o < outputs; ++o) {
        double sum = b[o];
        for (size_t i = 0; i < inputs; ++i) sum += x[r * inputs + i] * w[o * inputs + i];
        y[r * outputs + o] = sum;
      }
    }
    return y;
  }

  Matrix norm(const Norm& n, Matrix x) const {
    const Matrix scale = reference_tensor(model_, n.scale);
    const Matrix bias = n.bias == absent ? Matrix(d_, 0.0) : reference_tensor(model_, n.bias);
    for (size_t start = 0; start < x.size(); start += d_) {
      double mean = 0, variance = 0;
      for (size_t i = 0; i < d_; ++i) mean += x[start + i] / static_cast<double>(d_);
      for (size_t i = 0; i < d_; ++i)
        variance += (x[start + i] - mean) * (x[start + i] - mean) / static_cast<double>(d_);
      for (size_t i = 0; i < d_; ++i) {
        x[start + i] = (x[start + i] - mean) / std::sqrt(variance + n.epsilon) * scale[i] + bias[i];
      }
    }
    return x;
  }

  Matrix embed() const {
    const EncoderDescription& e = model_.description().encoder;
    const EmbeddingDescription& embedding = e.embedding;
    const Matrix tokens = reference_tensor(model_, embedding.tokens);
    const Matrix positions = embedding.positions == absent ? Matrix() : reference_tensor(model_, embedding.positions);
    Matrix x(ids_.size() * d_);
    size_t position = embedding.position_offset;
    for (size_t t = 0; t < ids_.size(); ++t) {
      const bool pad = ids_[t] == e.pad_id;
      const size_t row = pad && embedding.positions_count_non_pad ? embedding.pad_position : position++;
      for (size_t i = 0; i < d_; ++i) {
        x[t * d_ + i] = tokens[static_cast<size_t>(ids_[t]) * d_ + i] * embedding.scale +
                        (positions.empty() ? 0 : positions[row * d_ + i]);
      }
    }
    if (embedding.transform.present() && embedding.transform_before_norm) x = linear(embedding.transform, x);
    if (embedding.norm.present()) x = norm(embedding.norm, x);
    if (embedding.transform.present() && !embedding.transform_before_norm) x = linear(embedding.transform, x);
    for (size_t t = 0; t < ids_.size(); ++t) {
      if (embedding.zero_pad_rows && ids_[t] == e.pad_id) std::fill_n(x.begin() + static_cast<long>(t * d_), d_, 0.0);
    }
    return x;
  }

  // Returns the compressed keys or values, [k, D].
  Matrix compressed(const Projection& p, const Linear& l, const Matrix& z) const {
    const Matrix e = reference_tensor(model_, p.weight);
    const Matrix row_bias = p.bias == absent ? Matrix(p.k, 0.0) : reference_tensor(model_, p.bias);
    const size_t most = model_.description().encoder.max_tokens, n = z.size() / d_;
    const auto project = [&](const Matrix& x) {
      const size_t width = x.size() / n;
      Matrix c(p.k * width, 0.0);
      for (size_t j = 0; j < p.k; ++j) {
        for (size_t t = 0; t < n; ++t) {
          for (size_t i = 0; i < width; ++i) c[j * width + i] += e[j * most + t] * x[t * width + i];
        }
      }
      return c;
    };
    Matrix c = p.order == ProjectionOrder::before_linear ? linear(l, project(z)) : project(linear(l, z));
    const size_t width = c.size() / p.k;
    for (size_t j = 0; j < p.k; ++j) {
      double used = 0, rest = 0;
      for (size_t t = 0; t < most; ++t) (t < n ? used : rest) += e[j * most + t] * e[j * most + t];
      const double scale = p.length_scale == LengthScale::none           ? 1
                           : p.length_scale == LengthScale::inverse_root ? 1 / std::sqrt(static_cast<double>(n))
                                                                         : std::sqrt((used + rest) / used);
      for (size_t i = 0; i < width; ++i) c[j * width + i] = c[j * width + i] * scale + row_bias[j];
    }
    return c;
  }

  // Returns whether compressed row j takes part in attention for a text of n rows.
  static bool takes_part(const Projection& p, size_t window, size_t n, size_t j) {
    if (p.span == 0) return true;
    if (n - 1 <= window) return false;  // The window of the first row contains the last row.
    const size_t exact = p.exact_tokens.size();
    return j < exact || (j - exact) * p.span < (p.k - exact) * n;  // Compares the first position of the row with n.
  }

  // Returns the keys or values of a window beside compressed keys, [k + n, D]: the compressed rows, then the text's
  // own.
  Matrix with_own_rows(const Projection& p, const Linear& l, const Matrix& z, Matrix rows) const {
    const Matrix own = linear(l, z);
    const size_t width = own.size() / ids_.size();
    for (size_t j = 0; j < p.exact_tokens.size(); ++j) {
      const auto found = std::find(ids_.begin(), ids_.end(), static_cast<int32_t>(p.exact_tokens[j]));
      if (found == ids_.end()) continue;
      std::copy_n(own.begin() + (found - ids_.begin()) * static_cast<long>(width), width,
                  rows.begin() + static_cast<long>(j * width));
    }
    rows.insert(rows.end(), own.begin(), own.end());
    return rows;
  }

  Matrix attention(const AttentionDescription& a, const Matrix& z) const {
    const EncoderDescription& e = model_.description().encoder;
    const Matrix q = linear(a.query, z);
    const Projection &key_projection = e.projections[a.key_projections[0]],
                     &value_projection = e.projections[a.value_projections[0]];
    Matrix keys = compressed(key_projection, a.key, z), values = compressed(value_projection, a.value, z);
    const size_t width = a.heads * a.head_dim, n = z.size() / d_, k = key_projection.k;
    if (a.window > 0) {
      keys = with_own_rows(key_projection, a.key, z, std::move(keys));
      values = with_own_rows(value_projection, a.value, z, std::move(values));
    }
    const size_t all = keys.size() / width;
    const Matrix bias = a.position_bias == absent ? Matrix() : reference_tensor(model_, a.position_bias);
    // Returns the bias that is added to the score of query t for key j. For compressed keys it is 0.
    const auto added = [&](size_t h, size_t t, size_t j) {
      const size_t most = e.max_tokens;
      return bias.empty() || j < k ? 0.0 : bias[h * (2 * most - 1) + j - k + most - 1 - t];
    };
    const auto sees = [&](size_t t, size_t j) {
      if (j < k) return a.window == 0 || takes_part(key_projection, a.window, n, j);
      return std::max(t, j - k) - std::min(t, j - k) <= a.window;
    };
    Matrix context(n * width, 0.0);
    for (size_t h = 0; h < a.heads; ++h) {
      for (size_t t = 0; t < n; ++t) {
        Matrix scores(all, 0.0);
        for (size_t j = 0; j < all; ++j) {
          for (size_t i = h * a.head_dim; i < (h + 1) * a.head_dim; ++i)
            scores[j] += q[t * width + i] * keys[j * width + i];
          scores[j] = sees(t, j) ? scores[j] * a.scale + added(h, t, j) : -INFINITY;
        }
        const double largest = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double& s : scores) sum += s = std::exp(s - largest);
        for (size_t j = 0; j < all; ++j) {
          for (size_t i = h * a.head_dim; i < (h + 1) * a.head_dim; ++i) {
            context[t * width + i] += scores[j] / sum * values[j * width + i];
          }
        }
      }
    }
    return linear(a.output, context);
  }

  Matrix layer(const LayerDescription& l, Matrix x) const {
    const bool pre = model_.description().encoder.norm_placement == NormPlacement::pre;
    const auto add = [](Matrix a, const Matrix& b) {
      for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
      return a;
    };
    const auto feed_forward = [&](const Matrix& z) {
      Matrix hidden = linear(l.ffn_in, z);
      for (double& h : hidden) h = activate(l.activation, h);
      return linear(l.ffn_out, hidden);
    };
    if (pre) {
      x = add(x, attention(l.attention, norm(l.attention_norm, x)));
      return add(x, feed_forward(norm(l.ffn_norm, x)));
    }
    x = norm(l.attention_norm, add(x, attention(l.attention, x)));
    return norm(l.ffn_norm, add(x, feed_forward(x)));
  }

 private:
  const Model& model_;
  std::span<const int32_t> ids_;
  size_t d_;
};

}  // namespace

Matrix reference_tensor(const Model& model, TensorIndex index) {
  const TensorDescription& tensor = model.description().tensors[index];
  const std::byte* data = model.data(index);
  const ElementType type = tensor.type;
  const uint64_t width = static_cast<uint64_t>(element_bytes(type));
  uint64_t count = 1;
  for (uint64_t extent : tensor.shape) count *= extent;
  Matrix values(count);
  const uint64_t cols = tensor.shape.back(), rows = count / cols;
  const uint64_t together = type == ElementType::int8 ? 4 : type == ElementType::bf16 ? 2 : 1;
  const auto rounded_up = [](uint64_t value, uint64_t step) { return (value + step - 1) / step * step; };
  const bool panels = tensor.layout == TensorLayout::panel16;
  const uint64_t padded_rows = panels ? rounded_up(rows, 16) : rows;
  const uint64_t padded_cols = panels                                       ? rounded_up(cols, 16 * together)
                               : tensor.layout == TensorLayout::padded_rows ? rounded_up(cols, 32)
                                                                            : cols;
  const std::byte* scales = data + rounded_up(padded_rows * padded_cols * width, 64);
  for (uint64_t r = 0; r < rows; ++r) {
    float scale = 1;
    if (type == ElementType::int8) std::memcpy(&scale, scales + r * sizeof scale, sizeof scale);
    for (uint64_t c = 0; c < cols; ++c) {
      const uint64_t at =
          panels ? r / 16 * padded_cols * 16 + c / together * together * 16 + r % 16 * together + c % together
                 : r * padded_cols + c;
      values[r * cols + c] = static_cast<double>(scale) * widen(type, data + at * width);
    }
  }
  return values;
}

ReferenceOutputs reference_encode(const Model& model, std::span<const int32_t> ids) {
  const Encoder encoder(model, ids);
  const EncoderDescription& e = model.description().encoder;
  ReferenceOutputs outputs;
  outputs.hidden.push_back(encoder.embed());
  for (const LayerDescription& layer : e.layers) outputs.hidden.push_back(encoder.layer(layer, outputs.hidden.back()));
  outputs.encoded = e.final_norm.present() ? encoder.norm(e.final_norm, outputs.hidden.back()) : outputs.hidden.back();
  return outputs;
}

Matrix reference_logits(const Model& model, const Matrix& encoded, int head) {
  const Encoder encoder(model);
  const ClassificationHead& h = model.description().heads[static_cast<size_t>(head)];
  Matrix x(encoded.begin(), encoded.begin() + model.description().encoder.d_model);
  if (h.dense.present()) {
    x = encoder.linear(h.dense, x);
    for (double& value : x) value = activate(h.activation, value);
  }
  return encoder.linear(h.output, x);
}

Matrix reference_mlm(const Model& model, const Matrix& encoded, int64_t row) {
  const Encoder encoder(model);
  const MaskedLmHead& mlm = model.description().mlm;
  const int64_t d = model.description().encoder.d_model;
  Matrix x(encoded.begin() + row * d, encoded.begin() + (row + 1) * d);
  if (mlm.dense.present()) {
    x = encoder.linear(mlm.dense, x);
    for (double& value : x) value = activate(mlm.activation, value);
  }
  if (mlm.norm.present()) x = encoder.norm(mlm.norm, x);
  return encoder.linear(mlm.output, x);
}

}  // namespace linformer_test
