#include <algorithm>
#include <cctype>
#include <string_view>

#include "command_line/display.h"
#include "inspect/describe.h"
#include "linformer/build_info.h"
#include "models/devices.h"

namespace linformer::cli {
namespace {

std::string shape_text(std::span<const uint64_t> shape) {
  std::string text;
  for (const uint64_t extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text.empty() ? "1" : text;
}

// Returns whether the formula contains the name as a whole word.
bool contains_word(std::string_view formula, std::string_view name) {
  const auto part_of_a_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t at = formula.find(name); at != std::string_view::npos; at = formula.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !part_of_a_word(formula[at - 1])) && (end == formula.size() || !part_of_a_word(formula[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string tensors_text(const Model& model) {
  Table table({"tensor", "type", "layout", "shape", "bytes", "offset"}, {false, false, false, false, true, true});
  for (int i = 0; i < model.info().tensors; ++i) {
    const TensorInfo tensor = model.tensor(i);
    table.add({excerpt(tensor.name, text_width), linformer::name_of(tensor.type), tensor.layout,
               shape_text(tensor.shape), grouped(tensor.bytes), grouped(tensor.offset)});
  }
  return table.text();
}

nlohmann::ordered_json tensors_json(const Model& model) {
  auto json = nlohmann::ordered_json::array();
  for (int i = 0; i < model.info().tensors; ++i) {
    const TensorInfo tensor = model.tensor(i);
    char checksum[17];
    std::snprintf(checksum, sizeof checksum, "%016llx", static_cast<unsigned long long>(tensor.checksum));
    json.push_back({{"name", tensor.name},
                    {"type", linformer::name_of(tensor.type)},
                    {"layout", tensor.layout},
                    {"shape", tensor.shape},
                    {"bytes", tensor.bytes},
                    {"offset", tensor.offset},
                    {"xxh3", checksum}});
  }
  return json;
}

std::string compute_text(const Plan& plan) {
  std::string text = linformer::name_of(plan.compute);
  if (plan.other_compute) text += ", some weights in another type";
  if (plan.attention_compute != plan.compute) {
    text += std::string(" (attention in ") + linformer::name_of(plan.attention_compute) + ")";
  }
  return text;
}

std::string plan_text(const Plan& plan) {
  const SessionOptions& options = plan.options;
  // The instruction set is not named, because buffers have the same size on all of them.
  const std::string place = options.cuda.device < 0 ? std::string(linformer::name_of(options.cpu.backend)) + " backend"
                                                    : device_name(options.cuda.device);
  std::string text = "A session for texts of n = " + std::to_string(options.memory.max_tokens) + " tokens, " + place +
                     ", computing in " + compute_text(plan) + ":\n";
  Table buffers({"buffer", "bytes, rounded up to 64", ""}, {false, false, true});
  Table terms({"where", "", ""}, {false, true, false});
  for (int i = 0; i < plan.buffer_count; ++i) {
    const PlannedBuffer& buffer = plan.buffers[i];
    if (buffer.bytes > 0) buffers.add({buffer.name, buffer.formula, grouped(buffer.bytes)});
  }
  buffers.add({"total", "", grouped(plan.total_bytes)});
  for (int i = 0; i < plan.term_count; ++i) {
    const PlanTerm& term = plan.terms[i];
    const bool used = std::any_of(plan.buffers, plan.buffers + plan.buffer_count, [&](const PlannedBuffer& buffer) {
      return buffer.bytes > 0 && contains_word(buffer.formula, term.name);
    });
    if (used) terms.add({term.name, grouped(static_cast<uint64_t>(term.value)), term.meaning});
  }
  return text + buffers.text(2) + "\n" + terms.text(2) + "  = " + byte_size(plan.total_bytes) +
         (options.cuda.device < 0 ? " beside the model file's mapping\n" : " on the device, beside the weights\n");
}

nlohmann::ordered_json plan_json(const Plan& plan) {
  const SessionOptions& options = plan.options;
  nlohmann::ordered_json json = {
      {"max_tokens", options.memory.max_tokens},    {"max_batch", options.memory.max_batch},
      {"max_rows", options.memory.max_rows},        {"threads", options.cpu.threads},
      {"device", device_name(options.cuda.device)}, {"backend", linformer::name_of(options.cpu.backend)}};
  if (options.cuda.device < 0 && options.cpu.backend != BackendKind::native) {
    if (const Result<Version> version = backend_version(options.cpu.backend); version.ok()) {
      json["backend_version"] =
          std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
    }
  }
  json.update({{"isa", linformer::name_of(options.cpu.isa)},
               {"weights", linformer::name_of(plan.weights)},
               {"compute", linformer::name_of(plan.compute)},
               {"attention_compute", linformer::name_of(plan.attention_compute)},
               {"precision", plan.precision},
               {"block_rows", plan.block_rows},
               {"project_first_below", plan.project_first_below},
               {"total_bytes", plan.total_bytes}});
  auto& buffers = json["buffers"] = nlohmann::ordered_json::array();
  for (int i = 0; i < plan.buffer_count; ++i) {
    const PlannedBuffer& buffer = plan.buffers[i];
    buffers.push_back(
        {{"name", buffer.name}, {"formula", buffer.formula}, {"offset", buffer.offset}, {"bytes", buffer.bytes}});
  }
  auto& terms = json["terms"] = nlohmann::ordered_json::array();
  for (int i = 0; i < plan.term_count; ++i) {
    const PlanTerm& term = plan.terms[i];
    terms.push_back({{"name", term.name}, {"value", term.value}, {"meaning", term.meaning}});
  }
  return json;
}

}  // namespace linformer::cli
