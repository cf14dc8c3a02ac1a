#include "converter/dialects/layer_parts.h"

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using Member = decltype(LayerPart::member);

// The name of a part in reports, and the sizes of its outputs and inputs.
struct Role {
  const char* name;
  Member member;
  Size LayerSizes::*out;
  Size LayerSizes::*in;  // Null for norms.
};

constexpr Role roles[] = {
    {"attention.query", &AttentionDescription::query, &LayerSizes::heads, &LayerSizes::d_model},
    {"attention.key", &AttentionDescription::key, &LayerSizes::heads, &LayerSizes::d_model},
    {"attention.value", &AttentionDescription::value, &LayerSizes::heads, &LayerSizes::d_model},
    {"attention.output", &AttentionDescription::output, &LayerSizes::d_model, &LayerSizes::heads},
    {"ffn_in", &LayerDescription::ffn_in, &LayerSizes::ffn, &LayerSizes::d_model},
    {"ffn_out", &LayerDescription::ffn_out, &LayerSizes::d_model, &LayerSizes::ffn},
    {"attention.query_norm", &AttentionDescription::query_norm, &LayerSizes::heads, nullptr},
    {"attention.key_norm", &AttentionDescription::key_norm, &LayerSizes::heads, nullptr},
    {"attention_norm", &LayerDescription::attention_norm, &LayerSizes::d_model, nullptr},
    {"outer_norm", &LayerDescription::outer_norm, &LayerSizes::d_model, nullptr},
    {"ffn_norm", &LayerDescription::ffn_norm, &LayerSizes::d_model, nullptr},
};

const Role& role_of(const Member& member) {
  for (const Role& role : roles) {
    if (role.member == member) return role;
  }
  fail("a table of layer parts names a member without a role");
}

}  // namespace

void read_layer_parts(Conversion& conversion, TensorTable& tensors, std::span<const LayerPart> parts,
                      const std::string& prefix, size_t index, LayerSizes sizes, LayerDescription* layer) {
  for (const LayerPart& part : parts) {
    const Role& role = role_of(part.member);
    const std::string path = "layers[" + std::to_string(index) + "]." + role.name, name = prefix + part.name;
    if (const auto* norm = std::get_if<Norm LayerDescription::*>(&part.member)) {
      layer->** norm = read_norm(conversion, tensors, path, name, sizes.*role.out);
      continue;
    }
    if (const auto* norm = std::get_if<Norm AttentionDescription::*>(&part.member)) {
      layer->attention.** norm = read_norm(conversion, tensors, path, name, sizes.*role.out);
      continue;
    }
    const auto* of_attention = std::get_if<Linear AttentionDescription::*>(&part.member);
    Linear& linear =
        of_attention ? layer->attention.**of_attention : layer->*std::get<Linear LayerDescription::*>(part.member);
    if (!linear.present()) {
      linear = read_linear(conversion, tensors, path, name, sizes.*role.out, sizes.*role.in);
    }
    if (role.out == &LayerSizes::ffn) {
      sizes.ffn.value = conversion.description.tensors[static_cast<size_t>(linear.weight)].shape[0];
    }
  }
}

}  // namespace linformer::convert
