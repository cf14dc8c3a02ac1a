#include "describe.h"
#include "display.h"

namespace linformer::cli {
namespace {

constexpr int text_width = 90;

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text;
  for (const uint64_t extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text.empty() ? "1" : text;
}

}  // namespace

std::string tensors_text(const Model& model) {
  Table table({"tensor", "type", "layout", "shape", "bytes", "offset"}, {false, false, false, false, true, true});
  for (const TensorDescription& tensor : model.description().tensors) {
    table.add({excerpt(tensor.name, text_width), linformer::name_of(tensor.type),
               tensor.layout == TensorLayout::panel16 ? "panel16" : "row_major", shape_text(tensor.shape),
               grouped(tensor.bytes), grouped(tensor.offset)});
  }
  return table.text();
}

nlohmann::ordered_json tensors_json(const Model& model) {
  auto json = nlohmann::ordered_json::array();
  for (const TensorDescription& tensor : model.description().tensors) {
    char checksum[17];
    std::snprintf(checksum, sizeof checksum, "%016llx", static_cast<unsigned long long>(tensor.checksum));
    json.push_back({{"name", tensor.name},
                    {"type", linformer::name_of(tensor.type)},
                    {"layout", tensor.layout == TensorLayout::panel16 ? "panel16" : "row_major"},
                    {"shape", tensor.shape},
                    {"bytes", tensor.bytes},
                    {"offset", tensor.offset},
                    {"xxh3", checksum}});
  }
  return json;
}

std::string plan_text(const Plan& plan) {
  const SessionOptions& options = plan.options;
  std::string text = "A session for n = " + std::to_string(options.max_tokens) +
                     " tokens, b = " + std::to_string(options.max_batch) +
                     " texts, rows = " + std::to_string(options.max_rows) +
                     " tokens together,\nthreads = " + std::to_string(options.threads) +
                     ", block = " + std::to_string(plan.block_rows) + " rows, " + linformer::name_of(options.backend) +
                     " on " + linformer::name_of(options.isa) + ":\n";
  Table table({"buffer", "formula (bytes)", "bytes"}, {false, false, true});
  for (int i = 0; i < plan.buffer_count; ++i) {
    table.add({plan.buffers[i].name, plan.buffers[i].formula, grouped(plan.buffers[i].bytes)});
  }
  table.add({"total", "", grouped(plan.total_bytes)});
  return text + table.text(2) + "  = " + byte_size(plan.total_bytes) + " beside the model file's mapping\n";
}

nlohmann::ordered_json plan_json(const Plan& plan) {
  const SessionOptions& options = plan.options;
  nlohmann::ordered_json json = {{"max_tokens", options.max_tokens},
                                 {"max_batch", options.max_batch},
                                 {"max_rows", options.max_rows},
                                 {"threads", options.threads},
                                 {"backend", linformer::name_of(options.backend)},
                                 {"isa", linformer::name_of(options.isa)},
                                 {"block_rows", plan.block_rows},
                                 {"project_first_below", plan.project_first_below},
                                 {"total_bytes", plan.total_bytes}};
  auto& buffers = json["buffers"] = nlohmann::ordered_json::array();
  for (int i = 0; i < plan.buffer_count; ++i) {
    const PlannedBuffer& buffer = plan.buffers[i];
    buffers.push_back(
        {{"name", buffer.name}, {"formula", buffer.formula}, {"offset", buffer.offset}, {"bytes", buffer.bytes}});
  }
  return json;
}

}  // namespace linformer::cli
