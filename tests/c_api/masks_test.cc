// Tests that masked tokens, readers and batches give the same results in C as in C++.
#include <doctest/doctest.h>
#include <linformer.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "c_api/hostile.h"
#include "c_api/ok.h"
#include "linformer/mask_filler.h"
#include "linformer/text_runner.h"
#include "pipeline/sentences.h"

namespace linformer_test::masks_test {
namespace {

using namespace linformer;

TEST_CASE("masks are filled as in C++, and a text without a mask is reported") {
  Hostile f;
  lnf_status status = {};
  std::vector<std::string> sentences = random_sentences(60, 12, 8);
  for (size_t i = 0; i < sentences.size(); i += 2) sentences[i] += "[MASK] film [MASK]";
  std::vector<const char*> texts;
  for (const std::string& sentence : sentences) texts.push_back(sentence.c_str());
  lnf_text_options options;
  lnf_text_options_init(&options);
  options.max_batch = 3;
  lnf_mask_filler* filler = nullptr;
  OK(lnf_mask_filler_create(f.model, 3, &options, &filler, &status));
  char mask[8];
  CHECK(lnf_mask_filler_mask(filler, mask, sizeof mask) == 7);
  CHECK(std::string(mask) == "[MASK]");

  struct Filled {
    lnf_code code;
    int32_t without_mask;
    std::vector<int32_t> ids;
    std::vector<size_t> tokens;
    std::vector<uint32_t> offsets;
    std::vector<float> candidates;
    bool operator==(const Filled&) const = default;
  };
  std::vector<Filled> made, expected;
  const lnf_fill_visit visit = [](void* context, const lnf_mask_filling* filling) {
    std::vector<Filled>& all = *static_cast<std::vector<Filled>*>(context);
    CHECK(filling->size == sizeof *filling);
    CHECK(filling->report->index == all.size());
    CHECK(filling->report->values == nullptr);
    Filled one{filling->report->code, filling->report->without_mask, {}, {}, {}, {}};
    one.ids.assign(filling->ids, filling->ids + filling->id_count);
    for (size_t m = 0; m < filling->mask_count; ++m) {
      const lnf_masked_token& masked = filling->masks[m];
      CHECK(masked.size == sizeof masked);
      CHECK(masked.text == 0);
      one.tokens.push_back(masked.token);
      one.offsets.insert(one.offsets.end(), masked.offset, masked.offset + 2);
      CHECK(masked.candidate_count == 3);
      for (size_t i = 0; i < masked.candidate_count; ++i) {
        one.candidates.push_back(static_cast<float>(masked.candidates[i].id));
        one.candidates.push_back(masked.candidates[i].probability);
      }
    }
    all.push_back(one);
    return all.size() < 60 ? 1 : 0;
  };
  OK(lnf_fill_masks(filler, texts.data(), nullptr, nullptr, nullptr, texts.size(), visit, &made, nullptr, &status));
  MaskFillerOptions own;
  own.top_k = 3;
  MaskFiller other = std::move(*MaskFiller::create(*Model::load(f.CliFixture::model().c_str()), own));
  CHECK(
      other
          .fill(views_of(sentences),
                [&](size_t, const MaskFilling& filling) {
                  Filled one{
                      static_cast<lnf_code>(filling.report.status.code()), filling.report.without_mask, {}, {}, {}, {}};
                  one.ids.assign(filling.ids.begin(), filling.ids.end());
                  for (const MaskedToken& masked : filling.masks) {
                    one.tokens.push_back(masked.token);
                    one.offsets.push_back(masked.offset.begin);
                    one.offsets.push_back(masked.offset.end);
                    for (const MaskCandidate& candidate : masked.candidates) {
                      one.candidates.push_back(static_cast<float>(candidate.id));
                      one.candidates.push_back(candidate.probability);
                    }
                  }
                  expected.push_back(one);
                  return true;
                })
          .ok());
  REQUIRE(made.size() == 60);
  CHECK(made == expected);
  CHECK(made[1].without_mask == 1);
  CHECK(made[0].tokens.size() > 0);
  // With no texts the visitor is never called.
  made.assign(58, {});
  CHECK(lnf_fill_masks(filler, texts.data(), nullptr, nullptr, nullptr, 0, visit, &made, nullptr, &status) == LNF_OK);
  CHECK(made.size() == 58);
  lnf_mask_filler_free(filler);
}

TEST_CASE("a runner gives the outputs of the other classes, and the report has the limit that a text exceeds") {
  Hostile f;
  lnf_status status = {};
  lnf_output outputs[2];
  lnf_output_init(&outputs[0], LNF_EMBEDDINGS);
  lnf_output_init(&outputs[1], LNF_PROBABILITIES);
  lnf_text_options options;
  lnf_text_options_init(&options);
  options.on_long = LNF_LONG_ERROR;
  lnf_runner* runner = nullptr;
  OK(lnf_runner_create(f.model, outputs, 2, &options, &runner, &status));
  CHECK(lnf_runner_columns(runner, 0) == sentiment_width);
  CHECK(lnf_runner_columns(runner, 1) == 3);
  CHECK(lnf_runner_columns(runner, 2) == 0);
  std::string longer;
  for (int i = 0; i < 20; ++i) longer += "film ";
  const char* texts[] = {"good", longer.c_str(), "bad film"};
  struct Seen {
    std::vector<lnf_text_report> reports;
    std::vector<float> values;
  } seen;
  const lnf_visit visit = [](void* context, const lnf_text_report* report) {
    Seen& s = *static_cast<Seen*>(context);
    s.reports.push_back(*report);
    s.values.insert(s.values.end(), report->values, report->values + report->count);
    return 1;
  };
  OK(lnf_run_each(runner, texts, nullptr, nullptr, nullptr, 3, visit, &seen, nullptr, &status));
  REQUIRE(seen.reports.size() == 3);
  CHECK(seen.reports[0].limit == LNF_LIMIT_NONE);
  CHECK(seen.reports[1].code == LNF_TOO_LONG);
  CHECK(seen.reports[1].limit == LNF_LIMIT_TOKENS);
  CHECK(seen.reports[1].limit_tokens == 22);
  CHECK(seen.reports[1].limit_max_tokens == 12);
  CHECK(seen.reports[1].limit_text == 0);
  REQUIRE(seen.values.size() == 2 * (sentiment_width + 3));
  std::vector<float> vectors(sentiment_width, NAN), probabilities(3, NAN);
  OK(lnf_embed(f.embedder, &texts[2], nullptr, 1, vectors.data(), vectors.size(), nullptr, &status));
  OK(lnf_classify(f.classifier, &texts[2], nullptr, nullptr, nullptr, 1, probabilities.data(), 3, nullptr, &status));
  const auto second = seen.values.begin() + sentiment_width + 3;
  CHECK(std::equal(vectors.begin(), vectors.end(), second));
  CHECK(std::equal(probabilities.begin(), probabilities.end(), second + sentiment_width));
  lnf_runner_free(runner);
}

TEST_CASE("a text is read in windows, collected in a batch, and the logits of its masks are visited in order") {
  Hostile f;
  lnf_status status = {};
  lnf_session_options planned;
  lnf_session_options_init(&planned);
  planned.max_batch = 8;
  lnf_session* session = nullptr;
  OK(lnf_session_create(f.model, &planned, &session, &status));
  lnf_text_options options;
  lnf_text_options_init(&options);
  options.on_long = LNF_LONG_WINDOW;
  options.overlap = 0;
  lnf_reader* reader = nullptr;
  OK(lnf_reader_create(f.model, &options, session, 0, 0, &reader, &status));
  CHECK(lnf_reader_max_tokens(reader) == 12);
  CHECK(lnf_reader_sequences(reader) == 0);
  std::string text;
  for (int i = 0; i < 25; ++i) text += i % 3 == 0 ? "[MASK] " : "good ";
  lnf_text_report report;
  report.size = sizeof report;
  OK(lnf_reader_read(reader, text.data(), text.size(), nullptr, 0, &report, &status));
  CHECK(report.tokens == 27);
  CHECK(report.windows == 3);
  REQUIRE(lnf_reader_sequences(reader) == 3);
  lnf_reader* other = nullptr;
  OK(lnf_reader_another(reader, &other, &status));
  OK(lnf_reader_read(other, "good", 4, "film", 4, nullptr, &status));
  CHECK(lnf_reader_sequences(other) == 1);
  CHECK(lnf_reader_max_tokens(other) == 12);
  CHECK(lnf_reader_sequences(reader) == 3);
  lnf_reader_free(other);
  lnf_batch* batch = nullptr;
  OK(lnf_batch_create(session, 0, 0, -1, &batch, &status));
  std::vector<lnf_position> positions;
  lnf_sequence sequence;
  sequence.size = sizeof sequence;
  for (int64_t i = 0; i < 3; ++i) {
    OK(lnf_reader_sequence(reader, i, &sequence, &status));
    REQUIRE(sequence.count == 12);
    CHECK(sequence.first[0] == (i == 2 ? 15 : 10 * i));
    CHECK(sequence.texts[0] == -1);
    CHECK(sequence.texts[1] == 0);
    for (size_t t = 0; t < sequence.count; ++t) {
      if (sequence.ids[t] == 4) positions.push_back({i, static_cast<int64_t>(t)});
      if (t == 1) CHECK(text[sequence.offsets[2 * t]] == (sequence.ids[t] == 4 ? '[' : 'g'));
    }
    CHECK(lnf_batch_rows_of(batch, sequence.count) == 12);
    CHECK(lnf_batch_fits(batch, 12, 1) == 1);
    OK(lnf_batch_add(batch, sequence.ids, sequence.type_ids, sequence.count, &status));
  }
  CHECK(lnf_batch_size(batch) == 3);
  CHECK(lnf_batch_rows(batch) == 36);
  CHECK(lnf_batch_fits(batch, 1, 6) == 0);
  const lnf_input* inputs = nullptr;
  OK(lnf_batch_inputs(batch, &inputs, &status));
  lnf_masked_lm* masked_lm = nullptr;
  OK(lnf_masked_lm_create(session, 2, &masked_lm, &status));
  CHECK(lnf_masked_lm_vocabulary(masked_lm) == 13);
  CHECK(lnf_masked_lm_positions_at_once(masked_lm) == 2);
  std::vector<float> logits;
  const lnf_logits_visit visit = [](void* context, size_t position, const float* values, size_t count) {
    std::vector<float>& all = *static_cast<std::vector<float>*>(context);
    CHECK(all.size() == position * count);
    all.insert(all.end(), values, values + count);
    return 1;
  };
  OK(lnf_masked_lm_run(masked_lm, session, inputs, 3, positions.data(), positions.size(), visit, &logits, nullptr,
                       &status));
  std::vector<float> expected(positions.size() * 13, NAN);
  lnf_output output;
  lnf_output_init(&output, LNF_MASKED_LM);
  output.positions = positions.data();
  output.position_count = positions.size();
  output.data = expected.data();
  output.capacity = expected.size();
  OK(lnf_run(session, inputs, 3, &output, 1, nullptr, &status));
  CHECK(logits == expected);
  double sum = 0;
  for (size_t i = 0; i < 13; ++i) sum += std::exp(static_cast<double>(logits[i]));
  CHECK(lnf_log_sum_exp(logits.data(), 13) == doctest::Approx(std::log(sum)));
  lnf_batch_clear(batch);
  CHECK(lnf_batch_size(batch) == 0);
  CHECK(lnf_reader_read(reader, "[PAD]", 5, nullptr, 0, nullptr, &status) == LNF_OK);
  lnf_masked_lm_free(masked_lm);
  lnf_batch_free(batch);
  lnf_reader_free(reader);
  lnf_session_free(session);
}

TEST_CASE("lnf_text_session_options() sets the options of a session and leaves the other fields unchanged") {
  Hostile f;
  lnf_text_options texts;
  lnf_text_options_init(&texts);
  texts.max_tokens = 6;
  texts.max_batch = 3;
  texts.threads = 2;
  texts.padding = LNF_PADDING_KEEP;
  texts.compute = LNF_COMPUTE_F32;
  lnf_session_options session;
  lnf_session_options_init(&session);
  session.max_encoder_states = 5;
  lnf_status status = {};
  OK(lnf_text_session_options(f.model, &texts, &session, &status));
  CHECK(session.size == sizeof session);
  CHECK(session.max_tokens == 6);
  CHECK(session.max_batch == 3);
  CHECK(session.max_rows == 4096);
  CHECK(session.threads == 2);
  CHECK(session.padding == LNF_PADDING_KEEP);
  CHECK(session.compute == LNF_COMPUTE_F32);
  CHECK(session.device == -1);
  CHECK(session.max_encoder_states == 5);
  texts.pad_to = 7;
  f.refused([&](lnf_status* s) { return lnf_text_session_options(f.model, &texts, &session, s); });
  f.refused([&](lnf_status* s) { return lnf_text_session_options(nullptr, nullptr, &session, s); });
  f.refused([&](lnf_status* s) { return lnf_text_session_options(f.model, nullptr, nullptr, s); });
  CHECK(session.max_tokens == 6);
}

TEST_CASE("invalid arguments are refused, and freeing null does nothing") {
  Hostile f;
  lnf_mask_filler *filler = nullptr, *made_filler = nullptr;
  lnf_runner *runner = nullptr, *made_runner = nullptr;
  lnf_reader *reader = nullptr, *made_reader = nullptr;
  lnf_batch *batch = nullptr, *made_batch = nullptr;
  lnf_masked_lm *masked_lm = nullptr, *made_masked_lm = nullptr;
  REQUIRE(lnf_mask_filler_create(f.model, 0, nullptr, &filler, nullptr) == LNF_OK);
  REQUIRE(lnf_runner_create(f.model, &f.output, 1, nullptr, &runner, nullptr) == LNF_OK);
  REQUIRE(lnf_reader_create(f.model, nullptr, nullptr, 0, 0, &reader, nullptr) == LNF_OK);
  REQUIRE(lnf_batch_create(f.session, 0, 0, -1, &batch, nullptr) == LNF_OK);
  REQUIRE(lnf_masked_lm_create(f.session, 0, &masked_lm, nullptr) == LNF_OK);
  const char* texts[] = {"good [MASK]"};
  const lnf_fill_visit fill_visit = [](void*, const lnf_mask_filling*) { return 1; };
  const lnf_visit visit = [](void*, const lnf_text_report*) { return 1; };
  const lnf_logits_visit logits_visit = [](void*, size_t, const float*, size_t) { return 1; };

  f.refused([&](lnf_status* s) { return lnf_mask_filler_create(nullptr, 0, nullptr, &made_filler, s); });
  f.refused([&](lnf_status* s) { return lnf_mask_filler_create(f.model, 0, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_mask_filler_create(f.model, -1, nullptr, &made_filler, s); });
  lnf_text_options windows;
  lnf_text_options_init(&windows);
  windows.on_long = LNF_LONG_WINDOW;
  f.refused([&](lnf_status* s) { return lnf_mask_filler_create(f.model, 0, &windows, &made_filler, s); });
  const auto fill = [&](lnf_mask_filler* with, const char* const* list, size_t count, lnf_fill_visit to) {
    f.refused([=](lnf_status* s) {
      return lnf_fill_masks(with, list, nullptr, nullptr, nullptr, count, to, nullptr, nullptr, s);
    });
  };
  fill(nullptr, texts, 1, fill_visit);
  fill(filler, nullptr, 1, fill_visit);
  fill(filler, texts, 1, nullptr);
  char mask[3];
  CHECK(lnf_mask_filler_mask(nullptr, mask, 3) == 0);
  CHECK(lnf_mask_filler_mask(filler, mask, 3) == 7);
  CHECK(std::string(mask) == "[M");

  lnf_output output;
  lnf_output_init(&output, LNF_HIDDEN);
  f.refused([&](lnf_status* s) { return lnf_runner_create(f.model, &output, 1, nullptr, &made_runner, s); });
  output.kind = LNF_MASKED_LM;
  f.refused([&](lnf_status* s) { return lnf_runner_create(f.model, &output, 1, nullptr, &made_runner, s); });
  output.size = 3;
  f.refused([&](lnf_status* s) { return lnf_runner_create(f.model, &output, 1, nullptr, &made_runner, s); });
  lnf_output_init(&output, LNF_POOLED);
  f.refused([&](lnf_status* s) { return lnf_runner_create(nullptr, &output, 1, nullptr, &made_runner, s); });
  f.refused([&](lnf_status* s) { return lnf_runner_create(f.model, nullptr, 1, nullptr, &made_runner, s); });
  f.refused([&](lnf_status* s) { return lnf_runner_create(f.model, &output, 0, nullptr, &made_runner, s); });
  f.refused([&](lnf_status* s) { return lnf_runner_create(f.model, &output, SIZE_MAX, nullptr, &made_runner, s); });
  f.refused([&](lnf_status* s) { return lnf_runner_create(f.model, &output, 1, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) {
    return lnf_run_each(nullptr, texts, nullptr, nullptr, nullptr, 1, visit, nullptr, nullptr, s);
  });
  f.refused([&](lnf_status* s) {
    return lnf_run_each(runner, texts, nullptr, nullptr, nullptr, 1, nullptr, nullptr, nullptr, s);
  });
  CHECK(lnf_runner_columns(nullptr, 0) == 0);
  CHECK(lnf_runner_columns(runner, SIZE_MAX) == 0);

  lnf_sequence sequence;
  sequence.size = sizeof sequence;
  f.refused([&](lnf_status* s) { return lnf_reader_create(nullptr, nullptr, nullptr, 0, 0, &made_reader, s); });
  f.refused([&](lnf_status* s) { return lnf_reader_create(f.model, nullptr, nullptr, 0, 0, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_reader_read(nullptr, "x", 1, nullptr, 0, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_reader_read(reader, nullptr, 1, nullptr, 0, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_reader_read(reader, "x", SIZE_MAX / 2, nullptr, 0, nullptr, s); },
            LNF_TOO_LONG);
  f.refused([&](lnf_status* s) { return lnf_reader_sequence(reader, 0, &sequence, s); });
  f.refused([&](lnf_status* s) { return lnf_reader_another(nullptr, &made_reader, s); });
  f.refused([&](lnf_status* s) { return lnf_reader_another(reader, nullptr, s); });
  lnf_text_report report;
  report.size = 5;
  f.refused([&](lnf_status* s) { return lnf_reader_read(reader, "x", 1, nullptr, 0, &report, s); });
  REQUIRE(lnf_reader_read(reader, "x", 1, nullptr, 0, nullptr, nullptr) == LNF_OK);
  for (const int64_t i : {int64_t{-1}, int64_t{1}, INT64_MAX, INT64_MIN}) {
    f.refused([&](lnf_status* s) { return lnf_reader_sequence(reader, i, &sequence, s); });
  }
  f.refused([&](lnf_status* s) { return lnf_reader_sequence(reader, 0, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_reader_sequence(nullptr, 0, &sequence, s); });
  sequence.size = 7;
  f.refused([&](lnf_status* s) { return lnf_reader_sequence(reader, 0, &sequence, s); });
  CHECK(lnf_reader_sequences(nullptr) == 0);
  CHECK(lnf_reader_max_tokens(nullptr) == 0);

  const lnf_input* inputs = nullptr;
  f.refused([&](lnf_status* s) { return lnf_batch_create(nullptr, 0, 0, -1, &made_batch, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_create(f.session, 0, 0, -1, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_create(f.session, -1, 0, -1, &made_batch, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_create(f.session, 0, -1, 0, &made_batch, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_create(f.session, 0, 4, -1, &made_batch, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_add(nullptr, f.ids, nullptr, 3, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_add(batch, nullptr, nullptr, 3, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_add_vectors(nullptr, f.floats, 1, 4, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_add_vectors(batch, nullptr, 1, 4, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_add_vectors(batch, f.floats, 1, 0, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_add_vectors(batch, f.floats, SIZE_MAX, 4, s); });
  REQUIRE(lnf_batch_add_vectors(batch, f.floats, 1, 4, nullptr) == LNF_OK);
  f.refused([&](lnf_status* s) { return lnf_batch_add_vectors(batch, f.floats, 2, 2, s); });
  CHECK(lnf_batch_size(batch) == 1);
  f.refused([&](lnf_status* s) { return lnf_batch_inputs(nullptr, &inputs, s); });
  f.refused([&](lnf_status* s) { return lnf_batch_inputs(batch, nullptr, s); });
  CHECK(lnf_batch_size(nullptr) == 0);
  CHECK(lnf_batch_rows(nullptr) == 0);
  CHECK(lnf_batch_rows_of(nullptr, 3) == 0);
  CHECK(lnf_batch_rows_of(batch, SIZE_MAX) > 0);
  CHECK(lnf_batch_fits(nullptr, 0, 0) == 0);
  CHECK(lnf_batch_fits(batch, INT64_MAX, INT64_MAX) == 0);

  const lnf_position position = {0, 1}, beyond = {1, 0};
  f.refused([&](lnf_status* s) { return lnf_masked_lm_create(nullptr, 0, &made_masked_lm, s); });
  f.refused([&](lnf_status* s) { return lnf_masked_lm_create(f.session, 0, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_masked_lm_create(f.session, -1, &made_masked_lm, s); });
  const auto logits = [&](lnf_masked_lm* with, lnf_session* session, const lnf_position* list, size_t count,
                          lnf_logits_visit to) {
    f.refused([=, &f](lnf_status* s) {
      return lnf_masked_lm_run(with, session, &f.input, 1, list, count, to, nullptr, nullptr, s);
    });
  };
  logits(nullptr, f.session, &position, 1, logits_visit);
  logits(masked_lm, nullptr, &position, 1, logits_visit);
  logits(masked_lm, f.session, nullptr, 1, logits_visit);
  logits(masked_lm, f.session, &position, 1, nullptr);
  logits(masked_lm, f.session, &beyond, 1, logits_visit);
  CHECK(lnf_masked_lm_vocabulary(nullptr) == 0);
  CHECK(lnf_masked_lm_positions_at_once(nullptr) == 0);
  lnf_log_sum_exp(nullptr, 5);

  CHECK(made_filler == nullptr);
  CHECK(made_runner == nullptr);
  CHECK(made_reader == nullptr);
  CHECK(made_batch == nullptr);
  CHECK(made_masked_lm == nullptr);
  for (int i = 0; i < 2; ++i) {  // The second time all handles are null.
    lnf_mask_filler_free(filler);
    lnf_runner_free(runner);
    lnf_reader_free(reader);
    lnf_batch_free(batch);
    lnf_masked_lm_free(masked_lm);
    filler = nullptr;
    runner = nullptr;
    reader = nullptr;
    batch = nullptr;
    masked_lm = nullptr;
  }
  lnf_batch_clear(nullptr);
}

}  // namespace
}  // namespace linformer_test::masks_test
