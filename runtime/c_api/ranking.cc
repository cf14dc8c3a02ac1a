// The C functions for reranking, zero-shot classification, search in vectors, and shorter and sparse vectors.
#include "c_api/texts.h"
#include "linformer/reranker.h"
#include "linformer/sparse_embedder.h"
#include "linformer/vector_search.h"
#include "linformer/zero_shot.h"

using namespace linformer;
using namespace linformer::c_api;

static_assert(sizeof(lnf_scored) == sizeof(Scored) && offsetof(lnf_scored, score) == offsetof(Scored, score));
static_assert(sizeof(lnf_label_score) == sizeof(LabelScore) &&
              offsetof(lnf_label_score, probability) == offsetof(LabelScore, probability));
static_assert(LNF_COSINE == static_cast<int>(Similarity::cosine) && LNF_DOT == static_cast<int>(Similarity::dot));

static_assert(sizeof(lnf_token_weight) == sizeof(TokenWeight) &&
              offsetof(lnf_token_weight, weight) == offsetof(TokenWeight, weight));

struct lnf_reranker {
  Reranker reranker;
};
struct lnf_zero_shot {
  ZeroShotClassifier classifier;
};
struct lnf_search {
  VectorSearch search;
};
struct lnf_sparse_embedder {
  SparseEmbedder embedder;
};

namespace {

Status read_rows(const float* rows, size_t row_count, int64_t width, std::span<const float>* to) {
  if (rows == nullptr && row_count > 0) return missing("the array of rows");
  if (width < 1 || row_count > SIZE_MAX / sizeof(float) / static_cast<size_t>(width)) {
    return Status::error(Code::invalid_argument,
                         "%zu rows of %lld floats can't be in memory: check the number and the width of the rows",
                         row_count, static_cast<long long>(width));
  }
  *to = {rows, row_count * static_cast<size_t>(width)};
  return {};
}

Status read_labels(const TextArguments& given, Array<std::string_view>* to) {
  LINFORMER_TRY(given.check());
  for (size_t i = 0; i < given.count; ++i) {
    if (!to->try_push(TextArguments::at(given.texts, given.bytes, i))) {
      return Status::error(Code::out_of_memory, "no memory for a list of labels");
    }
  }
  return {};
}

}  // namespace

lnf_code lnf_reranker_create(const lnf_model* model, int32_t head, int32_t logits, const lnf_text_options* options,
                             lnf_reranker** reranker, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (reranker == nullptr) return missing("the pointer that receives the reranker");
    *reranker = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    RerankerOptions read;
    LINFORMER_TRY(read_text_options(options, &read.texts));
    read.head = head;
    read.logits = logits != 0;
    Result<Reranker> made = Reranker::create(model->model, read);
    return made.ok() ? make_handle(std::move(made.value()), reranker) : made.status();
  };
  return report(create(), status);
}

void lnf_reranker_free(lnf_reranker* reranker) { delete reranker; }

int32_t lnf_reranker_head(const lnf_reranker* reranker) { return reranker != nullptr ? reranker->reranker.head() : -1; }

lnf_code lnf_rerank(lnf_reranker* reranker, const char* query, size_t query_bytes, const char* const* documents,
                    const size_t* bytes, size_t document_count, lnf_scored* best, size_t capacity, size_t* count,
                    const lnf_control* control, lnf_status* status) {
  const auto rank = [&]() -> Status {
    if (count == nullptr) return missing("the pointer that receives the count");
    *count = 0;
    if (reranker == nullptr) return missing("the reranker");
    if (query == nullptr && query_bytes > 0) return missing("the query");
    if (best == nullptr && capacity > 0) return missing("the array for the answers");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {documents, bytes, nullptr, nullptr, document_count};
    LINFORMER_TRY(given.check());
    return reranker->reranker.rank({query, query_bytes}, given.list(), {reinterpret_cast<Scored*>(best), capacity},
                                   count, read);
  };
  return report(rank(), status);
}

lnf_code lnf_rerank_each(lnf_reranker* reranker, const char* const* queries, const size_t* query_bytes,
                         const char* const* documents, const size_t* bytes, size_t count, lnf_visit visit,
                         void* context, const lnf_control* control, lnf_status* status) {
  const auto score = [&]() -> Status {
    if (reranker == nullptr) return missing("the reranker");
    if (visit == nullptr) return missing("the function to be called for each text");
    if (documents == nullptr && count > 0) return missing("the list of documents");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {queries, query_bytes, documents, bytes, count};
    LINFORMER_TRY(given.check());
    return reranker->reranker.score(
        given.list(),
        [&](size_t index, const TextReport& text, float made) {
          const lnf_text_report said = report_of(index, text, {&made, 1});
          return visit(context, &said) != 0;
        },
        read);
  };
  return report(score(), status);
}

lnf_code lnf_zero_shot_create(const lnf_model* model, int32_t head, const char* const* labels,
                              const size_t* label_bytes, size_t label_count, const char* hypothesis,
                              int32_t multi_label, const lnf_text_options* options, lnf_zero_shot** zero_shot,
                              lnf_status* status) {
  const auto create = [&]() -> Status {
    if (zero_shot == nullptr) return missing("the pointer that receives the zero-shot classifier");
    *zero_shot = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    ZeroShotOptions read;
    LINFORMER_TRY(read_text_options(options, &read.texts));
    Array<std::string_view> names;
    LINFORMER_TRY(read_labels({labels, label_bytes, nullptr, nullptr, label_count}, &names));
    read.labels = names.span();
    if (hypothesis != nullptr) read.hypothesis = hypothesis;
    read.multi_label = multi_label != 0;
    read.head = head;
    Result<ZeroShotClassifier> made = ZeroShotClassifier::create(model->model, read);
    return made.ok() ? make_handle(std::move(made.value()), zero_shot) : made.status();
  };
  return report(create(), status);
}

void lnf_zero_shot_free(lnf_zero_shot* zero_shot) { delete zero_shot; }

lnf_code lnf_zero_shot_each(lnf_zero_shot* zero_shot, const char* const* texts, const size_t* bytes, size_t text_count,
                            lnf_zero_shot_visit visit, void* context, const lnf_control* control, lnf_status* status) {
  const auto classify = [&]() -> Status {
    if (zero_shot == nullptr) return missing("the zero-shot classifier");
    if (visit == nullptr) return missing("the function to be called for each text");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {texts, bytes, nullptr, nullptr, text_count};
    LINFORMER_TRY(given.check());
    return zero_shot->classifier.classify(
        given.list(),
        [&](size_t index, const ZeroShotClassification& said) {
          const lnf_text_report text = report_of(index, said.report, {});
          const lnf_zero_shot_scores made = {
              sizeof made, &text, reinterpret_cast<const lnf_label_score*>(said.scores.data()), said.scores.size()};
          return visit(context, &made) != 0;
        },
        read);
  };
  return report(classify(), status);
}

lnf_code lnf_search_create(const float* rows, size_t row_count, int64_t width, int32_t similarity, int64_t top_k,
                           int32_t threads, lnf_search** search, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (search == nullptr) return missing("the pointer that receives the search");
    *search = nullptr;
    std::span<const float> given;
    LINFORMER_TRY(read_rows(rows, row_count, width, &given));
    if (!within(similarity, LNF_COSINE, LNF_DOT)) {
      return Status::error(Code::invalid_argument, "similarity is %d: use LNF_COSINE or LNF_DOT",
                           static_cast<int>(similarity));
    }
    VectorSearchOptions read;
    read.similarity = static_cast<Similarity>(similarity);
    read.top_k = top_k;
    if (threads != 0) read.cpu.threads = threads;
    Result<VectorSearch> made = VectorSearch::create(given, width, read);
    return made.ok() ? make_handle(std::move(made.value()), search) : made.status();
  };
  return report(create(), status);
}

void lnf_search_free(lnf_search* search) { delete search; }

lnf_code lnf_search_set_rows(lnf_search* search, const float* rows, size_t row_count, lnf_status* status) {
  const auto set = [&]() -> Status {
    if (search == nullptr) return missing("the search");
    std::span<const float> given;
    LINFORMER_TRY(read_rows(rows, row_count, search->search.width(), &given));
    return search->search.set_rows(given);
  };
  return report(set(), status);
}

lnf_code lnf_search_run(lnf_search* search, const float* queries, size_t query_count, lnf_scored* best, size_t capacity,
                        size_t* counts, const lnf_control* control, lnf_status* status) {
  const auto run = [&]() -> Status {
    if (search == nullptr) return missing("the search");
    std::span<const float> given;
    if (queries == nullptr && query_count > 0) return missing("the array of queries");
    LINFORMER_TRY(read_rows(queries, query_count, search->search.width(), &given));
    if (best == nullptr && capacity > 0) return missing("the array for the answers");
    if (counts == nullptr && query_count > 0) return missing("the array for the counts");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    return search->search.search(given, {reinterpret_cast<Scored*>(best), capacity}, {counts, query_count}, read);
  };
  return report(run(), status);
}

lnf_code lnf_sparse_embedder_create(const lnf_model* model, const lnf_text_options* options,
                                    lnf_sparse_embedder** embedder, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (embedder == nullptr) return missing("the pointer that receives the embedder");
    *embedder = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    SparseEmbedderOptions read;
    LINFORMER_TRY(read_text_options(options, &read.texts));
    Result<SparseEmbedder> made = SparseEmbedder::create(model->model, read);
    return made.ok() ? make_handle(std::move(made.value()), embedder) : made.status();
  };
  return report(create(), status);
}

void lnf_sparse_embedder_free(lnf_sparse_embedder* embedder) { delete embedder; }

int64_t lnf_sparse_embedder_vocabulary(const lnf_sparse_embedder* embedder) {
  return embedder != nullptr ? embedder->embedder.vocabulary() : 0;
}

lnf_code lnf_embed_sparse(lnf_sparse_embedder* embedder, const char* const* texts, const size_t* bytes,
                          size_t text_count, lnf_sparse_visit visit, void* context, const lnf_control* control,
                          lnf_status* status) {
  const auto embed = [&]() -> Status {
    if (embedder == nullptr) return missing("the embedder");
    if (visit == nullptr) return missing("the function to be called for each text");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {texts, bytes, nullptr, nullptr, text_count};
    LINFORMER_TRY(given.check());
    return embedder->embedder.embed(
        given.list(),
        [&](size_t index, const TextReport& text, std::span<const TokenWeight> tokens) {
          const lnf_text_report said = report_of(index, text, {});
          return visit(context, &said, reinterpret_cast<const lnf_token_weight*>(tokens.data()), tokens.size()) != 0;
        },
        read);
  };
  return report(embed(), status);
}
