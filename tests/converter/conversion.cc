#include "converter/conversion.h"

#include <algorithm>
#include <stdexcept>

#include "base/description.h"
#include "converter/dialects/known_settings.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"
#include "converter/writer/tensor_data.h"

namespace linformer_test {

using namespace linformer::convert;

std::vector<float> Converted::values(linformer::TensorIndex index) const {
  return linformer::writer::decode(description().tensors[static_cast<size_t>(index)], model->data(index));
}

Converted converted(const std::string& checkpoint, const std::string& config) {
  ValueStore store;
  Settings settings;
  if (!config.empty()) settings.add_user_settings(parse_json(store, config, "config"), "config");
  Checkpoint opened = Checkpoint::open(as_bytes(checkpoint), "memory");
  Converted made;
  linformer::writer::ModelBuilder builder;
  build_model(opened, settings, &builder, &made.report, {});
  for (const std::string& name : settings.looked_up_names()) {
    if (!known_settings().contains(name)) throw std::logic_error("known_settings.cc must list the setting " + name);
  }
  insert_option_names({}, &made.report);
  made.settings = builder.origin.settings;
  made.file = builder.serialize();
  auto loaded = linformer::Model::load(made.file);
  if (!loaded.ok()) throw std::runtime_error(loaded.status().message());
  made.model = loaded.value();
  return made;
}

std::string conversion_error(const std::string& checkpoint, const std::string& config) {
  try {
    converted(checkpoint, config);
    return "";
  } catch (const Error& error) {
    return with_option_names(error.what(), {});
  } catch (const linformer::writer::WriteError& error) {
    return error.what();
  }
}

std::vector<HandTensor> tensors_of(const std::string& path) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  std::vector<HandTensor> tensors;
  for (const Tensor& tensor : checkpoint.tensors) {
    HandTensor made{tensor.name, {tensor.shape.begin(), tensor.shape.end()}, {}, DataType::f32};
    std::vector<float> values(tensor.elements, 1.f);
    if (tensor.type <= DataType::bf16) checkpoint.read_f32(tensor, 0, values);
    made.values.assign(values.begin(), values.end());
    tensors.push_back(std::move(made));
  }
  return tensors;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool is_left_out(const std::vector<Report::Omission>& left_out, const std::string& tensor) {
  return std::any_of(left_out.begin(), left_out.end(), [&](const Report::Omission& omission) {
    return omission.tensor == tensor && !omission.reason.empty();
  });
}

std::string fact(const Report& report, const std::string& name) {
  for (const Report::Fact& fact : report.facts) {
    if (fact.name == name) return fact.value;
  }
  return "";
}

}  // namespace linformer_test
