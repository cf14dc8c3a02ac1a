#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace linformer::bench {
namespace {

// A line of /proc/self/status in bytes; 0 where there is none.
uint64_t process_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

}  // namespace

double encoder_flop(const Model& model, const SessionOptions& options, int64_t tokens) {
  double sum = 0;
  const auto visit = [](void* context, const ProgramLine& line) {
    const std::string_view part = line.part;
    const bool of_encoder = part == "embedding" || part == "finish" || part.starts_with("layer ");
    if (of_encoder) *static_cast<double*>(context) += line.flop;
  };
  require(list_program(model, options, tokens, visit, &sum));
  return sum;
}

Measurement measure(const Case& what) {
  LoadOptions load_options;
  load_options.checksums = Verify::never;  // would read weights that the model may never use
  auto model = Model::load(what.model.c_str(), load_options);
  require(model.status());
  const EncoderDescription& encoder = (*model)->description().encoder;

  SessionOptions options;
  options.max_tokens = what.tokens;
  options.max_batch = what.batch;
  options.threads = what.threads;
  options.backend = what.backend;
  options.isa = what.isa;
  auto session = Session::create(*model, options);
  require(session.status());

  std::vector<int32_t> ids(static_cast<size_t>(what.tokens * what.batch));
  const uint32_t first = std::min(4u, encoder.vocab_size - 1);  // beyond the usual special tokens
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(first + i * 7919 % (encoder.vocab_size - first));
  }
  std::vector<Tokens> texts;
  for (int64_t t = 0; t < what.batch; ++t) {
    texts.push_back(Tokens(ids).subspan(static_cast<size_t>(t * what.tokens), static_cast<size_t>(what.tokens)));
  }
  std::vector<float> hidden(ids.size() * encoder.d_model);
  Outputs outputs;
  outputs.hidden = hidden;

  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 2; ++i) require(session->run(texts, outputs));
  std::vector<double> times;
  const auto begin = Clock::now();
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  while (static_cast<int>(times.size()) < least_calls || seconds_since(begin) < what.seconds) {
    const auto call = Clock::now();
    require(session->run(texts, outputs));
    times.push_back(seconds_since(call) * 1e3);
  }
  std::sort(times.begin(), times.end());

  Measurement result;
  result.isa = name_of(session->plan().options.isa);
  result.calls = static_cast<int>(times.size());
  result.min_ms = times.front();
  result.median_ms = times[times.size() / 2];
  result.p90_ms = times[times.size() * 9 / 10];
  result.gigaflop = encoder_flop(**model, options, what.tokens) * static_cast<double>(what.batch) / 1e9;
  result.arena_bytes = session->plan().total_bytes;
  result.used_bytes = session->used_bytes();
  result.peak_bytes = process_bytes("VmHWM");
  result.resident_file_bytes = process_bytes("RssFile");
  return result;
}

void to_json(nlohmann::json& json, const Case& what) {
  json = {{"model", what.model},
          {"backend", static_cast<int>(what.backend)},
          {"isa", static_cast<int>(what.isa)},
          {"threads", what.threads},
          {"tokens", what.tokens},
          {"batch", what.batch},
          {"seconds", what.seconds}};
}

void from_json(const nlohmann::json& json, Case& what) {
  what.model = json.at("model").get<std::string>();
  what.backend = static_cast<BackendKind>(json.at("backend").get<int>());
  what.isa = static_cast<Isa>(json.at("isa").get<int>());
  what.threads = json.at("threads").get<int>();
  what.tokens = json.at("tokens").get<int64_t>();
  what.batch = json.at("batch").get<int64_t>();
  what.seconds = json.at("seconds").get<double>();
}

void to_json(nlohmann::json& json, const Measurement& m) {
  json = {{"isa", m.isa},
          {"calls", m.calls},
          {"min_ms", m.min_ms},
          {"median_ms", m.median_ms},
          {"p90_ms", m.p90_ms},
          {"gigaflop", m.gigaflop},
          {"arena_bytes", m.arena_bytes},
          {"used_bytes", m.used_bytes},
          {"peak_bytes", m.peak_bytes},
          {"resident_file_bytes", m.resident_file_bytes}};
}

void from_json(const nlohmann::json& json, Measurement& m) {
  m.isa = json.at("isa").get<std::string>();
  m.calls = json.at("calls").get<int>();
  m.min_ms = json.at("min_ms").get<double>();
  m.median_ms = json.at("median_ms").get<double>();
  m.p90_ms = json.at("p90_ms").get<double>();
  m.gigaflop = json.at("gigaflop").get<double>();
  m.arena_bytes = json.at("arena_bytes").get<uint64_t>();
  m.used_bytes = json.at("used_bytes").get<uint64_t>();
  m.peak_bytes = json.at("peak_bytes").get<uint64_t>();
  m.resident_file_bytes = json.at("resident_file_bytes").get<uint64_t>();
}

}  // namespace linformer::bench
