#include "linformer/masked_lm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "base/array.h"

namespace LINFORMER_NAMESPACE {

struct MaskedLm::State {
  size_t vocabulary = 0, at_once = 1;
  // Buffers for the part of a call that is being run.
  Array<Input> inputs;
  Array<MaskPosition> positions;
  Array<float> logits;

  // Returns how many of the remaining positions belong to the next part. A part holds whole texts, unless a single text
  // has more than `at_once` positions.
  size_t next_part(std::span<const MaskPosition> rest) const {
    if (rest.size() <= at_once) return rest.size();
    size_t count = at_once;
    while (count > 0 && rest[count - 1].sequence == rest[count].sequence) --count;
    return count == 0 ? at_once : count;
  }
};

MaskedLm::MaskedLm(std::unique_ptr<State> state) : state_(std::move(state)) {}
MaskedLm::MaskedLm(MaskedLm&&) noexcept = default;
MaskedLm& MaskedLm::operator=(MaskedLm&&) noexcept = default;
MaskedLm::~MaskedLm() = default;

namespace {

Status no_memory_for_logits() { return Status::error(Code::out_of_memory, "no memory for masked-LM logits"); }

Status check_order(std::span<const MaskPosition> positions, size_t texts) {
  int64_t last = 0;
  for (const MaskPosition& position : positions) {
    if (position.sequence < last || static_cast<uint64_t>(position.sequence) >= texts) {
      return Status::error(Code::invalid_argument,
                           "a masked-LM position is in text %lld after one in text %lld, of %zu texts: give them in "
                           "the order of the texts",
                           static_cast<long long>(position.sequence), static_cast<long long>(last), texts);
    }
    last = position.sequence;
  }
  return {};
}

}  // namespace

Result<MaskedLm> MaskedLm::create(const Session& session, int64_t positions_at_once) {
  if (positions_at_once < 0) {
    return Status::error(Code::invalid_argument, "positions_at_once is %lld: give 0 or more",
                         static_cast<long long>(positions_at_once));
  }
  const Result<Shape> shape = session.shape(Output::masked_lm({}, {}), 1, 1);
  if (!shape.ok()) return shape.status();
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return no_memory_for_logits();
  state->vocabulary = static_cast<size_t>(shape->columns);
  if (positions_at_once == 0)
    positions_at_once = std::max<int64_t>(1, most_logits / std::max<int64_t>(1, shape->columns));
  state->at_once = static_cast<size_t>(positions_at_once);
  return MaskedLm(std::move(state));
}

int64_t MaskedLm::vocabulary() const { return static_cast<int64_t>(state_->vocabulary); }
int64_t MaskedLm::positions_at_once() const { return static_cast<int64_t>(state_->at_once); }

Status MaskedLm::run(Session* session, std::span<const Input> inputs, std::span<const MaskPosition> positions,
                     Visit visit, void* context, const RunControl& control) {
  State& s = *state_;
  LINFORMER_TRY(check_order(positions, inputs.size()));
  for (size_t first = 0; first < positions.size();) {
    const std::span<const MaskPosition> part = positions.subspan(first, s.next_part(positions.subspan(first)));
    s.inputs.clear();
    s.positions.clear();
    for (size_t i = 0; i < part.size(); ++i) {
      const bool begins = i == 0 || part[i].sequence != part[i - 1].sequence;
      if (begins && !s.inputs.try_push(inputs[static_cast<size_t>(part[i].sequence)])) return no_memory_for_logits();
      if (!s.positions.try_push({static_cast<int64_t>(s.inputs.size()) - 1, part[i].position}))
        return no_memory_for_logits();
    }
    if (part.size() > SIZE_MAX / s.vocabulary) return no_memory_for_logits();
    const size_t floats = part.size() * s.vocabulary;
    if (s.logits.size() < floats && !s.logits.try_resize_for_overwrite(floats)) return no_memory_for_logits();
    LINFORMER_TRY(
        session->run(s.inputs.span(), Output::masked_lm({s.logits.data(), floats}, s.positions.span()), control));
    for (size_t i = 0; i < part.size(); ++i) {
      if (!visit(context, first + i, s.logits.span().subspan(i * s.vocabulary, s.vocabulary))) return {};
    }
    first += part.size();
  }
  return {};
}

double log_sum_exp(std::span<const float> logits) {
  float highest = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) {
    if (!std::isfinite(logit)) return std::numeric_limits<double>::quiet_NaN();
    highest = std::max(highest, logit);
  }
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - highest));
  return static_cast<double>(highest) + std::log(sum);
}

}  // namespace LINFORMER_NAMESPACE
