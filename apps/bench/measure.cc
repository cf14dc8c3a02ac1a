#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/description.h"
#include "input_files/open_model.h"
#include "linformer/build_info.h"
#include "program/cost.h"
#include "program/listing.h"
#include "session/state.h"

namespace linformer::bench {
namespace {

// Returns the value of a line of /proc/self/status in bytes, or 0 if there is no such line.
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

bool of_encoder(std::string_view part) { return part == "embedding" || part == "finish" || part.starts_with("layer "); }

}  // namespace

Flop encoder_flop(const Model& model, const SessionOptions& options, int64_t tokens) {
  Flop sum;
  const auto visit = [](void* context, const ProgramLine& line) {
    if (!of_encoder(line.part)) return;
    Flop& flop = *static_cast<Flop*>(context);
    flop.all += line.flop;
    if (line.weights) flop.weights[static_cast<size_t>(line.compute)] += line.flop;
  };
  require(list_program(model, options, tokens, visit, &sum));
  return sum;
}

std::vector<std::array<double, 2>> encoder_op_costs(const Model& model, const SessionOptions& options, int64_t tokens,
                                                    int64_t batch) {
  Result<LoweredModel> lowered =
      lower_model(model.description(), options, choose_planned_bf16(options, linformer::Machine()));
  require(lowered.status());
  const Program& program = lowered->program;
  const int64_t states = lowered->plan.options.memory.max_encoder_states;
  std::vector<std::array<double, 2>> ops;
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const Stage& stage = program.stages[s];
    if (!of_encoder(part_of(program, static_cast<int32_t>(s)).text) || !applies(stage, tokens, states)) continue;
    for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
      const Cost cost = cost_of(program, stage, program.ops[static_cast<size_t>(i)], tokens, states);
      const double texts = static_cast<double>(batch);
      ops.push_back({texts * cost.flop / 1e9, (texts * cost.bytes + cost.weight_bytes) / 1e9});
    }
  }
  return ops;
}

std::optional<double> roofline_ms(const Measurement& measurement, const Limits& limits) {
  const double rate = limits.of(measurement.compute).giga, memory = limits.memory.giga;
  if (measurement.ops.empty() || rate <= 0 || memory <= 0) return {};
  double seconds = 0;
  for (const auto& [gigaflop, gigabytes] : measurement.ops) seconds += std::max(gigaflop / rate, gigabytes / memory);
  return seconds * 1e3;
}

uint64_t encoder_weight_bytes(const Model& model, int64_t tokens) {
  const EncoderDescription& encoder = model.description().encoder;
  std::set<TensorIndex> weights;
  const auto add = [&](const Linear& linear) {
    if (linear.present()) weights.insert(linear.weight);
  };
  add(encoder.embedding.factor);
  add(encoder.embedding.transform);
  add(encoder.embedding.vectors.linear);
  add(encoder.output);
  for (const LayerDescription& layer : encoder.layers) {
    const AttentionDescription& attention = layer.attention;
    for (const Linear* linear :
         {&attention.query, &attention.key, &attention.value, &attention.output, &attention.output_second,
          &layer.attention_resample, &layer.ffn_in, &layer.ffn_out, &layer.ffn_resample}) {
      add(*linear);
    }
  }
  double bytes = 0;
  for (const TensorIndex index : weights) {
    bytes += static_cast<double>(model.description().tensors[static_cast<size_t>(index)].bytes);
  }
  std::set<TensorIndex> projections;
  for (const Projection& projection : encoder.projections) {
    if (projection.kind != ProjectionKind::linear || !projections.insert(projection.weight).second) continue;
    const TensorDescription& tensor = model.description().tensors[static_cast<size_t>(projection.weight)];
    const double share = static_cast<double>(tokens) / static_cast<double>(encoder.max_tokens);
    bytes += static_cast<double>(tensor.bytes) * std::min(1.0, share);
  }
  return static_cast<uint64_t>(bytes);
}

Measurement measure(const Case& what, const DescribeProfile& describe_profile) {
  LoadOptions load_options;
  load_options.checksums = Verify::never;  // Checking would read weights that the model may never use.
  load_options.access = what.access;
  auto model = files::open_model(what.model, load_options);
  require(model.status());
  const EncoderDescription& encoder = (*model)->description().encoder;
  if (encoder.vocab_size == 0) throw std::runtime_error("this model reads vectors; bench measures models of tokens");
  const EmbeddingDescription& embedding = encoder.embedding;
  const int64_t prefix = embedding.prefix != absent || embedding.prefix_token >= 0 ? 1 : 0;
  const int64_t most = int64_t{encoder.max_tokens} - prefix, tokens = what.tokens > 0 ? what.tokens : most;
  if (tokens > most) {
    throw std::runtime_error(what.model + " takes at most " + std::to_string(most) + " tokens, not " +
                             std::to_string(tokens));
  }

  SessionOptions options;
  options.memory.max_tokens = tokens + prefix;
  options.memory.max_batch = what.batch;
  options.cpu.threads = what.threads;
  options.cpu.backend = what.backend;
  options.cpu.isa = what.isa;
  options.run.compute = what.compute;
  options.run.attention_compute = what.attention_compute;
  options.cuda.device = what.device;
  auto session = Session::create(*model, options);
  require(session.status());

  std::vector<int32_t> ids(static_cast<size_t>(tokens * what.batch));
  const uint32_t first = std::min(4u, encoder.vocab_size - 1);  // Skips the usual special tokens.
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(first + i * 7919 % (encoder.vocab_size - first));
  }
  std::vector<Tokens> texts;
  for (int64_t t = 0; t < what.batch; ++t) {
    texts.push_back(Tokens(ids).subspan(static_cast<size_t>(t * tokens), static_cast<size_t>(tokens)));
  }
  const Result<Shape> shape = session->shape(Output::pooled({}), texts);
  require(shape.status());
  std::vector<float> pooled(static_cast<size_t>(shape->floats()));
  const Output output = Output::pooled(pooled, Pooling::mean);

  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const double long_enough = 5 * what.seconds;  // After this time fewer calls than least_calls are enough.
  auto begin = Clock::now();
  for (int i = 0; i < what.warm_ups && (i == 0 || seconds_since(begin) < long_enough); ++i) {
    require(session->run(texts, output));
  }
  std::vector<double> times;
  begin = Clock::now();
  const auto enough = [&] {
    const double seconds = seconds_since(begin);
    if (times.empty() || seconds < what.seconds) return false;
    return static_cast<int>(times.size()) >= what.least_calls || (what.seconds > 0 && seconds > long_enough);
  };
  while (!enough()) {
    const auto call = Clock::now();
    require(session->run(texts, output));
    times.push_back(seconds_since(call) * 1e3);
  }
  std::sort(times.begin(), times.end());

  Measurement result;
  const Plan& plan = session->plan();
  result.tokens = tokens;
  result.isa = name_of(plan.options.cpu.isa);
  if (what.backend != BackendKind::native && what.device < 0) {
    const Result<Version> version = backend_version(what.backend);
    require(version.status());
    result.backend_version =
        std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
  }
  result.weights = plan.weights;
  result.compute = plan.compute;
  result.attention_compute = plan.attention_compute;
  result.precision = plan.precision;
  result.calls = static_cast<int>(times.size());
  result.min_ms = times.front();
  result.median_ms = times[times.size() / 2];
  result.p99_ms = times[times.size() * 99 / 100];
  const Flop flop = encoder_flop(**model, plan.options, tokens + prefix);
  const double giga = static_cast<double>(what.batch) / 1e9;
  result.gigaflop = flop.all * giga;
  for (size_t type = 0; type < flop.weights.size(); ++type) {
    if (type != static_cast<size_t>(plan.compute)) result.gigaflop_of_others[type] = flop.weights[type] * giga;
  }
  if (what.device >= 0) result.ops = encoder_op_costs(**model, plan.options, tokens + prefix, what.batch);
  result.weight_bytes = encoder_weight_bytes(**model, tokens);
  result.model_bytes = (*model)->file_bytes();
  result.arena_bytes = plan.total_bytes;
  result.used_bytes = session->used_bytes();
  result.peak_bytes = process_bytes("VmHWM");
  const uint64_t of_files = process_bytes("RssFile");
  result.own_bytes = result.peak_bytes - std::min(result.peak_bytes, of_files);
  if (!what.profile || !describe_profile) return result;
  // Measuring each op takes time, so the profile is made with a second session.
  session = Session::create(*model, [&] {
    options.profile = true;
    return options;
  }());
  require(session.status());
  for (int i = 0; i < std::max(1, result.calls / 4); ++i) require(session->run(texts, output));
  result.profile = describe_profile(*session);
  return result;
}

void to_json(nlohmann::json& json, const Case& what) {
  json = {{"access", static_cast<int>(what.access)},
          {"backend", static_cast<int>(what.backend)},
          {"isa", static_cast<int>(what.isa)},
          {"compute", static_cast<int>(what.compute)},
          {"attention_compute", static_cast<int>(what.attention_compute)},
          {"device", what.device},
          {"threads", what.threads},
          {"tokens", what.tokens},
          {"batch", what.batch},
          {"seconds", what.seconds},
          {"warm_ups", what.warm_ups},
          {"least_calls", what.least_calls},
          {"profile", what.profile}};
}

void from_json(const nlohmann::json& json, Case& what) {
  what.access = static_cast<Access>(json.at("access").get<int>());
  what.backend = static_cast<BackendKind>(json.at("backend").get<int>());
  what.isa = static_cast<Isa>(json.at("isa").get<int>());
  what.compute = static_cast<Compute>(json.at("compute").get<int>());
  what.attention_compute = static_cast<AttentionCompute>(json.at("attention_compute").get<int>());
  what.device = json.at("device").get<int>();
  what.threads = json.at("threads").get<int>();
  what.tokens = json.at("tokens").get<int64_t>();
  what.batch = json.at("batch").get<int64_t>();
  what.seconds = json.at("seconds").get<double>();
  what.warm_ups = json.at("warm_ups").get<int>();
  what.least_calls = json.at("least_calls").get<int>();
  what.profile = json.at("profile").get<bool>();
}

void to_json(nlohmann::json& json, const Measurement& m) {
  json = {{"tokens", m.tokens},
          {"isa", m.isa},
          {"backend_version", m.backend_version},
          {"weights", static_cast<int>(m.weights)},
          {"compute", static_cast<int>(m.compute)},
          {"attention_compute", static_cast<int>(m.attention_compute)},
          {"precision", m.precision},
          {"calls", m.calls},
          {"min_ms", m.min_ms},
          {"median_ms", m.median_ms},
          {"p99_ms", m.p99_ms},
          {"gigaflop", m.gigaflop},
          {"gigaflop_of_others", m.gigaflop_of_others},
          {"weight_bytes", m.weight_bytes},
          {"model_bytes", m.model_bytes},
          {"arena_bytes", m.arena_bytes},
          {"used_bytes", m.used_bytes},
          {"peak_bytes", m.peak_bytes},
          {"own_bytes", m.own_bytes},
          {"ops", m.ops},
          {"profile", m.profile}};
}

void from_json(const nlohmann::json& json, Measurement& m) {
  m.tokens = json.at("tokens").get<int64_t>();
  m.isa = json.at("isa").get<std::string>();
  m.backend_version = json.at("backend_version").get<std::string>();
  m.weights = static_cast<ElementType>(json.at("weights").get<int>());
  m.compute = static_cast<ElementType>(json.at("compute").get<int>());
  m.attention_compute = static_cast<ElementType>(json.at("attention_compute").get<int>());
  m.precision = json.at("precision").get<std::string>();
  m.calls = json.at("calls").get<int>();
  m.min_ms = json.at("min_ms").get<double>();
  m.median_ms = json.at("median_ms").get<double>();
  m.p99_ms = json.at("p99_ms").get<double>();
  m.gigaflop = json.at("gigaflop").get<double>();
  m.gigaflop_of_others = json.at("gigaflop_of_others").get<std::array<double, 4>>();
  m.weight_bytes = json.at("weight_bytes").get<uint64_t>();
  m.model_bytes = json.at("model_bytes").get<uint64_t>();
  m.arena_bytes = json.at("arena_bytes").get<uint64_t>();
  m.used_bytes = json.at("used_bytes").get<uint64_t>();
  m.peak_bytes = json.at("peak_bytes").get<uint64_t>();
  m.own_bytes = json.at("own_bytes").get<uint64_t>();
  m.ops = json.at("ops").get<std::vector<std::array<double, 2>>>();
  m.profile = json.at("profile");
}

}  // namespace linformer::bench
