// Steps that several dialects share.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/description.h"
#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"
#include "converter/option_names.h"

namespace linformer::convert {

// The user's settings, then those that training programs keep beside the state dict under the usual names.
Settings settings_beside(const Conversion& conversion);

// Returns the option with these settings, which callers show as --config '{"pool": "cls"}' or in words of their own.
std::string config_option(const std::string& json);

// Throws Error: `what` is neither in the checkpoint nor visible in its tensors. `settings` says what to give, made with
// config_option(): it shows every choice, and NUMBER in place of a number. A user might copy an example number with
// which the model runs and gives wrong answers.
[[noreturn]] void missing_setting(const std::string& what, const std::string& settings);

// Throws Error when the setting is there and says otherwise than the tensors.
void check_agreement(const Settings& settings, const char* name, int64_t from_tensors, const char* what);

// Returns the number of attention heads, which must be given and divide the `width` that the heads have together.
// `remark` is added to the error about a missing number.
uint32_t needed_heads(const Settings& settings, const char* name, uint64_t width, Report& report,
                      const std::string& remark = "");

// How many modules are called PREFIX0., PREFIX1., and so on. Throws Error when there are none, more than `most`, or
// gaps; `what` is a module's name in the sentences.
uint32_t count_modules(const TensorTable& tensors, const std::string& prefix, const char* what = "layer",
                       uint32_t most = max_layers);

// NAME.weight and NAME.bias.
Linear read_linear(Conversion& conversion, TensorTable& tensors, const std::string& role, const std::string& name,
                   Size out, Size in);
// The same where the bias may be absent.
Linear read_linear_maybe_bias(Conversion& conversion, TensorTable& tensors, const std::string& role,
                              const std::string& name, Size out, Size in);
Norm read_norm(Conversion& conversion, TensorTable& tensors, const std::string& role, const std::string& name,
               Size width);
// The same where the bias may be absent.
Norm read_norm_maybe_bias(Conversion& conversion, TensorTable& tensors, const std::string& role,
                          const std::string& name, Size width);

// A setting that is a number between 0 and `limit`, neither included; `usual`, with a note in the report, where it is
// absent.
float number_below(const Settings& settings, const char* name, float limit, float usual, Report& report);

// The scale of attention scores: 1 / sqrt(head_dim).
float usual_scale(uint32_t head_dim);

// [a, b] -> [b, a].
Tensor transposed(const Tensor& matrix);
// The first `count` columns of a matrix.
Tensor first_columns(const Tensor& matrix, uint64_t count);

// Query, key and value where one tensor has the rows of all three, in this order.
inline constexpr std::array packed_roles = {"query", "key", "value"};
// The `rows` rows of part i of packed_roles, with its name.
Tensor packed_part(const Tensor& packed, size_t i, uint64_t rows);

// An encoder's linear projections: one entry for each distinct matrix (with its bias).
class ProjectionTable {
 public:
  // Both must outlive the table. encoder.max_tokens must be set before add().
  ProjectionTable(EncoderDescription& encoder, WeightWriter& weights, ProjectionOrder order,
                  LengthScale length_scale = LengthScale::none)
      : encoder_(encoder), weights_(weights), order_(order), length_scale_(length_scale) {}

  // The index of the projection whose matrix, [k, N], has these values. `bias`: [k], may be null.
  uint32_t add(const std::string& role, const Tensor& matrix, const Tensor* bias = nullptr);
  void report(Report& report) const;

 private:
  EncoderDescription& encoder_;
  WeightWriter& weights_;
  ProjectionOrder order_;
  LengthScale length_scale_;
  size_t uses_ = 0;
  std::map<std::pair<TensorIndex, TensorIndex>, uint32_t> known_;  // by weight and bias
};

// A list of one projection for each head, or of a single one where all are the same.
std::vector<uint32_t> for_heads(std::vector<uint32_t> projections);

// Throws Error unless keys and values of the layer are compressed to equally many rows.
void check_same_k(const EncoderDescription& encoder, const AttentionDescription& attention, size_t layer);

}  // namespace linformer::convert
