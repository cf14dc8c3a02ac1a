// The C functions that find entities and answers.
#include "c_api/texts.h"

using namespace linformer;
using namespace linformer::c_api;

static_assert(LNF_AGGREGATE_SIMPLE == static_cast<int>(Aggregation::simple) &&
              LNF_AGGREGATE_NONE == static_cast<int>(Aggregation::none) &&
              LNF_AGGREGATE_FIRST == static_cast<int>(Aggregation::first) &&
              LNF_AGGREGATE_AVERAGE == static_cast<int>(Aggregation::average) &&
              LNF_AGGREGATE_MAX == static_cast<int>(Aggregation::max));

namespace {

// Returns the beginning of a text. For an empty text it returns "", so that callers never get NULL.
const char* begin_of(std::string_view text) { return text.data() != nullptr ? text.data() : ""; }

// These functions convert the entities and answers of a text to the header's structs.
Status list_entities(const Tagging& tagging, Array<lnf_entity>* to) {
  to->clear();
  for (const Entity& entity : tagging.entities) {
    // Labels end with a 0, so data() is a C string.
    const lnf_entity made = {sizeof made,
                             entity.label.data(),
                             begin_of(entity.text),
                             entity.text.size(),
                             {entity.offset.begin, entity.offset.end},
                             entity.score};
    if (!to->try_push(made)) return Status::error(Code::out_of_memory, "no memory for a text's entities");
  }
  return {};
}

Status list_answers(const Answers& answers, Array<lnf_answer_span>* to) {
  to->clear();
  for (const Answer& answer : answers.answers) {
    const lnf_answer_span made = {sizeof made,        begin_of(answer.text),
                                  answer.text.size(), {answer.offset.begin, answer.offset.end},
                                  answer.score,       answer.no_answer};
    if (!to->try_push(made)) return Status::error(Code::out_of_memory, "no memory for a question's answers");
  }
  return {};
}

}  // namespace

lnf_code lnf_tagger_create(const lnf_model* model, int32_t aggregation, int32_t head, const lnf_text_options* options,
                           lnf_tagger** tagger, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (tagger == nullptr) return missing("the pointer that receives the tagger");
    *tagger = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    if (!within(aggregation, LNF_AGGREGATE_SIMPLE, LNF_AGGREGATE_MAX)) {
      return Status::error(Code::invalid_argument, "aggregation is %d: use LNF_AGGREGATE_...",
                           static_cast<int>(aggregation));
    }
    TaggerOptions read;
    if (options != nullptr) LINFORMER_TRY(read_text_options(options, &read.texts));
    read.aggregation = static_cast<Aggregation>(aggregation);
    read.head = head;
    Result<Tagger> made = Tagger::create(model->model, read);
    return made.ok() ? make_handle(std::move(made.value()), tagger) : made.status();
  };
  return report(create(), status);
}

void lnf_tagger_free(lnf_tagger* tagger) { delete tagger; }

int32_t lnf_tagger_head(const lnf_tagger* tagger) { return tagger != nullptr ? tagger->tagger.head() : -1; }

lnf_code lnf_tag(lnf_tagger* tagger, const char* const* texts, const size_t* bytes, size_t text_count,
                 lnf_tag_visit visit, void* context, const lnf_control* control, lnf_status* status) {
  const auto tag = [&]() -> Status {
    if (tagger == nullptr) return missing("the tagger");
    if (visit == nullptr) return missing("the function to be called for each text");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {texts, bytes, nullptr, nullptr, text_count};
    LINFORMER_TRY(given.check());
    Status failed;
    LINFORMER_TRY(tagger->tagger.tag(
        given.list(),
        [&](size_t index, const Tagging& tagging) {
          failed = list_entities(tagging, &tagger->entities);
          if (!failed.ok()) return false;
          const lnf_text_report text = report_of(index, tagging.report, {});
          const lnf_tagging made = {sizeof made, &text, tagger->entities.data(), tagger->entities.size()};
          return visit(context, &made) != 0;
        },
        read));
    return failed;
  };
  return report(tag(), status);
}

lnf_code lnf_answerer_create(const lnf_model* model, int64_t max_answer_tokens, int64_t top_k, int32_t no_answer,
                             int32_t head, const lnf_text_options* options, lnf_answerer** answerer,
                             lnf_status* status) {
  const auto create = [&]() -> Status {
    if (answerer == nullptr) return missing("the pointer that receives the answerer");
    *answerer = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    AnswererOptions read;
    if (options != nullptr) LINFORMER_TRY(read_text_options(options, &read.texts));
    if (max_answer_tokens != 0) read.max_answer_tokens = max_answer_tokens;
    if (top_k != 0) read.top_k = top_k;
    read.no_answer = no_answer != 0;
    read.head = head;
    Result<Answerer> made = Answerer::create(model->model, read);
    return made.ok() ? make_handle(std::move(made.value()), answerer) : made.status();
  };
  return report(create(), status);
}

void lnf_answerer_free(lnf_answerer* answerer) { delete answerer; }

int32_t lnf_answerer_head(const lnf_answerer* answerer) { return answerer != nullptr ? answerer->answerer.head() : -1; }

lnf_code lnf_answer(lnf_answerer* answerer, const char* const* questions, const size_t* question_bytes,
                    const char* const* contexts, const size_t* context_bytes, size_t count, lnf_answer_visit visit,
                    void* context, const lnf_control* control, lnf_status* status) {
  const auto answer = [&]() -> Status {
    if (answerer == nullptr) return missing("the answerer");
    if (visit == nullptr) return missing("the function to be called for each question");
    if (contexts == nullptr && count > 0) return missing("the list of contexts");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {questions, question_bytes, contexts, context_bytes, count};
    LINFORMER_TRY(given.check());
    Status failed;
    LINFORMER_TRY(answerer->answerer.answer(
        given.list(),
        [&](size_t index, const Answers& answers) {
          failed = list_answers(answers, &answerer->answers);
          if (!failed.ok()) return false;
          const lnf_text_report text = report_of(index, answers.report, {});
          const lnf_answers made = {sizeof made, &text, answerer->answers.data(), answerer->answers.size()};
          return visit(context, &made) != 0;
        },
        read));
    return failed;
  };
  return report(answer(), status);
}
