// Functions that several dialects use.
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

// Returns the user's settings, followed by the settings that training programs save in the checkpoint beside the state
// dict, under the keys config, args, hparams and hyper_parameters.
Settings user_and_checkpoint_settings(const Conversion& conversion);

// Returns, for errors, how the user gives these settings: --config '{"pool": "cls"}', or what the converter's caller
// calls the option.
std::string config_option(const std::string& json);

// Throws Error which says that `what` is neither in the checkpoint nor visible in its tensors. `settings` is a text,
// made with config_option(), that tells the user what to give. It shows every choice, but NUMBER in place of a number:
// the user might copy an example number with which the model runs and gives wrong answers.
[[noreturn]] void missing_setting(const std::string& what, const std::string& settings);

// Throws Error if the setting is present and differs from the number that the tensors show. `what` is the unit of the
// number in the message, such as "layers".
void check_agreement(const Settings& settings, const char* name, int64_t from_tensors, const char* what);

// Returns the number of attention heads, which is the setting `name`, and adds it to the report. Throws Error if the
// setting is missing, or if the number does not divide `width`, the width of all heads together. `remark` is appended
// to the error about a missing setting.
uint32_t read_head_count(const Settings& settings, const char* name, uint64_t width, Report& report,
                         const std::string& remark = "");

// Returns the number of modules whose tensors' names begin with "PREFIX0.", "PREFIX1." and so on. Throws Error if there
// are none or more than `most`, or if a number is left out. `what` is what errors call a module.
uint32_t count_modules(const TensorTable& tensors, const std::string& prefix, const char* what = "layer",
                       uint32_t most = max_layers);

// Reads a Linear from the tensors NAME.weight and NAME.bias.
Linear read_linear(Conversion& conversion, TensorTable& tensors, const std::string& role, const std::string& name,
                   Size out, Size in);
// Reads a Linear from NAME.weight and, if it is there, NAME.bias.
Linear read_linear_maybe_bias(Conversion& conversion, TensorTable& tensors, const std::string& role,
                              const std::string& name, Size out, Size in);
// Reads a Norm from the tensors NAME.weight and NAME.bias.
Norm read_norm(Conversion& conversion, TensorTable& tensors, const std::string& role, const std::string& name,
               Size width);
// Reads a Norm from NAME.weight and, if it is there, NAME.bias.
Norm read_norm_maybe_bias(Conversion& conversion, TensorTable& tensors, const std::string& role,
                          const std::string& name, Size width);

// Returns the setting `name`, a number between 0 and `limit`, both excluded. If it is absent, returns `usual`, which is
// the default of transformers, and adds a note to the report.
float number_below(const Settings& settings, const char* name, float limit, float usual, Report& report);

// Returns the usual scale of attention scores, 1 / sqrt(head_dim).
float usual_scale(uint32_t head_dim);

// Returns the transpose of a matrix, as a view.
Tensor transposed(const Tensor& matrix);
// Returns the first `count` columns of a matrix, as a view.
Tensor first_columns(const Tensor& matrix, uint64_t count);

// The roles of the parts of a packed tensor, which holds the rows of query, key and value in this order.
inline constexpr std::array packed_roles = {"query", "key", "value"};
// Returns the rows of the part with the role packed_roles[i], as a view. Each part has `rows` rows. The role is
// appended to the name.
Tensor packed_part(const Tensor& packed, size_t i, uint64_t rows);

// The table of an encoder's linear projections. Projections with equal matrices and biases share one entry.
class ProjectionTable {
 public:
  // `encoder` and `weights` must outlive the table. encoder.max_tokens must be set before add() is called.
  ProjectionTable(EncoderDescription& encoder, WeightWriter& weights, ProjectionOrder order,
                  LengthScale length_scale = LengthScale::none)
      : encoder_(encoder), weights_(weights), order_(order), length_scale_(length_scale) {}

  // Returns the index of the projection with this matrix, [k, N], and this bias, [k], which may be null. Adds the
  // projection if the encoder does not have it yet.
  uint32_t add(const std::string& role, const Tensor& matrix, const Tensor* bias = nullptr);
  void report(Report& report) const;

 private:
  EncoderDescription& encoder_;
  WeightWriter& weights_;
  ProjectionOrder order_;
  LengthScale length_scale_;
  size_t uses_ = 0;
  std::map<std::pair<TensorIndex, TensorIndex>, uint32_t> known_;  // The indices of projections, by weight and bias.
};

// Returns the projections of a layer's heads. A list of equal projections is shortened to one entry, which stands for
// all heads.
std::vector<uint32_t> collapse_equal_projections(std::vector<uint32_t> projections);

// Throws Error if the layer compresses its keys and its values to different numbers of rows.
void check_same_k(const EncoderDescription& encoder, const AttentionDescription& attention, size_t layer);

}  // namespace linformer::convert
