// Runs models on every engine and prints one line for each model, type of weights, engine and number of threads. The
// line ends with a hash of the bits of all outputs. `bash tests/bits.sh OLD NEW` compares the lines of two builds.
//   bits_cpu COUNT [FILE.lnfr...]
// The models are the first COUNT random models of the test `reference`, all variants of session/variants.h, and the
// given files. bits_device does the same on the simulated device.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/description.h"
#include "base/enum_names.h"
#include "reference/random_case.h"
#include "session/variants.h"
#include "support/engines.h"
#include "support/outputs.h"
#include "support/skip.h"

// Defines the function that support/skip.h declares. In tests the file with doctest's main program defines it, but this
// program doesn't use doctest.
void linformer_test::skip(const std::string& what) { std::printf("skipped: %s\n", what.c_str()); }

namespace {

using namespace linformer;
using linformer_test::Engine;
using linformer_test::RandomInput;

// The 64-bit FNV-1a hash.
struct Hash {
  uint64_t value = 0xcbf29ce484222325;
  void add(const void* data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
      value = (value ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
    }
  }
};

// Returns the hash of all outputs that the model has. The masked-LM scores are only those of the first token of each
// text.
std::string bits_of(Session& session, const ModelDescription& description, const std::vector<Input>& inputs) {
  std::vector<Output> asked;
  for (int layer = -1; layer <= 64; ++layer) asked.push_back(Output::hidden({}, layer));
  for (const Pooling pooling : {Pooling::first_token, Pooling::mean, Pooling::max, Pooling::last_token}) {
    asked.push_back(Output::pooled({}, pooling));
  }
  for (size_t head = 0; head < description.heads.size(); ++head) {
    asked.push_back(Output::logits({}, static_cast<int>(head)));
    asked.push_back(Output::probabilities({}, static_cast<int>(head)));
  }
  asked.push_back(Output::embeddings({}));
  std::vector<MaskPosition> positions;
  for (size_t text = 0; text < inputs.size(); ++text) positions.push_back({static_cast<int64_t>(text), 0});
  asked.push_back(Output::masked_lm({}, positions));
  std::vector<std::vector<float>> values(asked.size());
  std::vector<Output> outputs;
  for (size_t i = 0; i < asked.size(); ++i) {
    linformer_test::add_output(session, inputs, asked[i], &values[i], &outputs);
  }
  if (const Status status = session.run(inputs, outputs); !status.ok()) return std::string(status.message());
  Hash hash;
  for (const std::vector<float>& some : values) hash.add(some.data(), some.size() * sizeof(float));
  char text[24];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.value));
  return text;
}

void print(const std::string& name, const std::shared_ptr<const Model>& model, const std::vector<Input>& inputs,
           Padding padding) {
  for (const Engine& engine : linformer_test::engines()) {
    for (const int threads : {1, 2}) {
      if (engine.device >= 0 && threads > 1) continue;
      SessionOptions options = linformer_test::session_options(engine, threads, static_cast<int64_t>(inputs.size()));
      options.run.padding = padding;
      Result<Session> session = Session::create(model, options);
      const std::string bits =
          session.ok() ? bits_of(*session, model->description(), inputs) : std::string(session.status().message());
      std::printf("%s, %s, %d threads: %s\n", name.c_str(), linformer_test::label_of(engine).c_str(), threads,
                  bits.c_str());
    }
  }
}

void print_typed(const std::string& name, linformer_test::RandomModel shape, const std::vector<RandomInput>& inputs,
                 Padding padding) {
  std::vector<Input> views;
  for (const RandomInput& input : inputs) views.push_back(input.view());
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    shape.type = type;
    print(name + ", " + name_of(type), linformer_test::random_model(shape), views, padding);
  }
}

std::vector<RandomInput> inputs_of(const EncoderDescription& encoder, int64_t longest, bool masks) {
  std::vector<RandomInput> inputs;
  for (const int64_t rows : {longest, int64_t{1}, longest / 2 + 1}) {
    inputs.push_back(linformer_test::random_input(static_cast<uint64_t>(rows), encoder, rows, rows, masks));
  }
  return inputs;
}

}  // namespace

int main(int count, char** arguments) {
  const uint64_t models = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 0;
  for (uint64_t index = 0; index < models; ++index) {
    const linformer_test::RandomCase c = linformer_test::random_case(index);
    print_typed("random model " + std::to_string(index), c.shape, c.inputs, c.options.run.padding);
  }
  for (const linformer_test::Variant& variant : linformer_test::variants(150, 600)) {
    const auto model = linformer_test::random_model(variant.shape);
    const std::vector<RandomInput> inputs =
        inputs_of(model->description().encoder, variant.shape.n - 1, variant.masks);
    print_typed(variant.name, variant.shape, inputs, variant.masks ? Padding::keep : Padding::strip);
  }
  for (int i = 2; i < count; ++i) {
    const auto model = Model::load(arguments[i]);
    if (!model.ok()) {
      std::printf("%s: %s\n", arguments[i], std::string(model.status().message()).c_str());
      continue;
    }
    const std::string path = arguments[i], name = path.substr(path.rfind('/') + 1);
    const EncoderDescription& encoder = (*model)->description().encoder;
    const std::vector<RandomInput> inputs =
        inputs_of(encoder, std::min<int64_t>((*model)->info().max_tokens, 700), false);
    std::vector<Input> views;
    for (const RandomInput& input : inputs) views.push_back(input.view());
    print(name, *model, views, Padding::strip);
  }
  return 0;
}
