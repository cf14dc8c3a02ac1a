// What a conversion did: told at its end, as a table or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace linformer::convert {

// What the user's settings say and no step of the conversion asked for.
struct UnusedSetting {
  std::string name, source;
  std::string did_you_mean;  // a name like it that was asked for and not given; empty: there is none
};

struct Report {
  struct Fact {
    std::string name, value;
    std::string source;  // where the value was read or what it was inferred from
  };
  struct Mapping {
    std::string role;    // what the model file calls it, such as layers[0].attention.query.weight
    std::string tensor;  // the checkpoint's name
    std::string shape;   // "[32, 32] f16"
    std::string note;    // "same values as ...", or empty
  };
  struct Omission {
    std::string tensor, reason;
  };

  std::string checkpoint, format, dialect, recognised_by;
  std::vector<Fact> facts;
  std::vector<Mapping> mapped;
  std::vector<Omission> left_out;
  std::vector<std::string> notes;  // assumptions and other things worth knowing
  // Assumptions with which the model may answer otherwise than the user expects. They are printed even where the report
  // is not.
  std::vector<std::string> cautions;
  std::vector<UnusedSetting> unused_settings;
  std::string output;
  uint64_t output_bytes = 0;
  std::string weight_type;  // of --dtype

  // What types narrower than f32 cost and save.
  struct Rounded {
    std::string tensor, type;
    double error = 0;  // |original - stored| / |original|
  };
  std::vector<Rounded> rounded;
  double rounding_error = 0;  // of all of them, as one vector
  uint64_t bytes_in_f32 = 0;  // of the output, were all its weights f32

  void add_fact(std::string name, std::string value, std::string source) {
    facts.push_back({std::move(name), std::move(value), std::move(source)});
  }
};

}  // namespace linformer::convert
