// The C functions that fill masks and compute masked-LM logits.
#include "c_api/texts.h"

using namespace linformer;
using namespace linformer::c_api;

static_assert(sizeof(lnf_mask_candidate) == sizeof(MaskCandidate) &&
              offsetof(lnf_mask_candidate, probability) == offsetof(MaskCandidate, probability));

namespace {

// Converts the masks of a text to the header's structs.
Status list_masks(const MaskFilling& filling, Array<lnf_masked_token>* to) {
  to->clear();
  for (const MaskedToken& mask : filling.masks) {
    lnf_masked_token made = {};
    made.size = sizeof made;
    made.token = mask.token;
    made.candidates = reinterpret_cast<const lnf_mask_candidate*>(mask.candidates.data());
    made.candidate_count = mask.candidates.size();
    made.text = mask.text;
    made.offset[0] = mask.offset.begin;
    made.offset[1] = mask.offset.end;
    if (!to->try_push(made)) return Status::error(Code::out_of_memory, "no memory for a text's masks");
  }
  return {};
}

}  // namespace

lnf_code lnf_mask_filler_create(const lnf_model* model, int64_t top_k, const lnf_text_options* options,
                                lnf_mask_filler** filler, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (filler == nullptr) return missing("the pointer that receives the mask filler");
    *filler = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    MaskFillerOptions read;
    LINFORMER_TRY(read_text_options(options, &read.texts));
    if (top_k != 0) read.top_k = top_k;
    Result<MaskFiller> made = MaskFiller::create(model->model, read);
    return made.ok() ? make_handle(std::move(made.value()), filler) : made.status();
  };
  return report(create(), status);
}

void lnf_mask_filler_free(lnf_mask_filler* filler) { delete filler; }

size_t lnf_mask_filler_mask(const lnf_mask_filler* filler, char* text, size_t capacity) {
  return filler != nullptr ? copy_text(filler->filler.mask(), text, capacity) : 0;
}

lnf_code lnf_fill_masks(lnf_mask_filler* filler, const char* const* texts, const size_t* bytes,
                        const char* const* pairs, const size_t* pair_bytes, size_t text_count, lnf_fill_visit visit,
                        void* context, const lnf_control* control, lnf_status* status) {
  const auto fill = [&]() -> Status {
    if (filler == nullptr) return missing("the mask filler");
    if (visit == nullptr) return missing("the function to be called for each text");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {texts, bytes, pairs, pair_bytes, text_count};
    LINFORMER_TRY(given.check());
    Status failed;
    LINFORMER_TRY(filler->filler.fill(
        given.list(),
        [&](size_t index, const MaskFilling& filling) {
          failed = list_masks(filling, &filler->masks);
          if (!failed.ok()) return false;
          const lnf_text_report text = report_of(index, filling.report, {});
          const lnf_mask_filling made = {
              sizeof made, &text, filling.ids.data(), filling.ids.size(), filler->masks.data(), filler->masks.size()};
          return visit(context, &made) != 0;
        },
        read));
    return failed;
  };
  return report(fill(), status);
}

lnf_code lnf_masked_lm_create(const lnf_session* session, int64_t positions_at_once, lnf_masked_lm** masked_lm,
                              lnf_status* status) {
  const auto create = [&]() -> Status {
    if (masked_lm == nullptr) return missing("the pointer that receives the masked LM");
    *masked_lm = nullptr;
    if (session == nullptr) return missing("the session");
    Result<MaskedLm> made = MaskedLm::create(session->session, positions_at_once);
    return made.ok() ? make_handle(std::move(made.value()), masked_lm) : made.status();
  };
  return report(create(), status);
}

void lnf_masked_lm_free(lnf_masked_lm* masked_lm) { delete masked_lm; }

int64_t lnf_masked_lm_vocabulary(const lnf_masked_lm* masked_lm) {
  return masked_lm != nullptr ? masked_lm->masked_lm.vocabulary() : 0;
}

int64_t lnf_masked_lm_positions_at_once(const lnf_masked_lm* masked_lm) {
  return masked_lm != nullptr ? masked_lm->masked_lm.positions_at_once() : 0;
}

lnf_code lnf_masked_lm_run(lnf_masked_lm* masked_lm, lnf_session* session, const lnf_input* inputs, size_t input_count,
                           const lnf_position* positions, size_t position_count, lnf_logits_visit visit, void* context,
                           const lnf_control* control, lnf_status* status) {
  const auto run = [&]() -> Status {
    if (masked_lm == nullptr) return missing("the masked LM");
    if (positions == nullptr && position_count > 0) return missing("the list of positions");
    if (visit == nullptr) return missing("the function to be called for each position");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    LINFORMER_TRY(read_inputs_and_outputs(session, inputs, input_count, nullptr, 0));
    for (size_t i = 0; i < position_count; ++i) {
      if (!session->positions.try_push({positions[i].sequence, positions[i].position})) {
        return Status::error(Code::out_of_memory, "no memory for a list of positions");
      }
    }
    return masked_lm->masked_lm.run(
        &session->session, session->inputs.span(), session->positions.span(),
        [&](size_t i, std::span<const float> logits) { return visit(context, i, logits.data(), logits.size()) != 0; },
        read);
  };
  return report(run(), status);
}

double lnf_log_sum_exp(const float* logits, size_t count) {
  return log_sum_exp({logits, logits != nullptr ? count : 0});
}
