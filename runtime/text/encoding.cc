#include "text/encoding.h"

namespace LINFORMER_NAMESPACE {

Encoding::Encoding() = default;
Encoding::Encoding(Encoding&&) noexcept = default;
Encoding& Encoding::operator=(Encoding&&) noexcept = default;
Encoding::~Encoding() = default;

std::span<const int32_t> Encoding::ids() const { return state_ ? state_->ids.span() : std::span<const int32_t>(); }
std::span<const Offset> Encoding::offsets() const {
  return state_ ? state_->offsets.span() : std::span<const Offset>();
}
std::span<const uint8_t> Encoding::special_mask() const {
  return state_ ? state_->special_mask.span() : std::span<const uint8_t>();
}
std::span<const uint8_t> Encoding::type_ids() const {
  return state_ ? state_->type_ids.span() : std::span<const uint8_t>();
}
std::span<const int8_t> Encoding::sequence_ids() const {
  return state_ ? state_->sequence_ids.span() : std::span<const int8_t>();
}
bool Encoding::truncated() const { return state_ && state_->truncated; }
int64_t Encoding::total_tokens() const { return state_ ? state_->total_tokens : 0; }

std::string_view Encoding::token(size_t i) const {
  if (!state_ || i >= state_->name_ends.size()) return {};
  const size_t begin = i == 0 ? 0 : state_->name_ends[i - 1];
  return {state_->names.data() + begin, state_->name_ends[i] - begin};
}

}  // namespace LINFORMER_NAMESPACE
