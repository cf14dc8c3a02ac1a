#include "bench/child.h"

#include <cstdio>
#include <stdexcept>

#include "input_files/lost_file.h"
#include "system/own_child.h"

namespace linformer::bench {

Measurement measure_in_child(const Case& what) {
  // The path is an argument and not part of the JSON, because it need not be UTF-8.
  const system::ChildOutput output =
      system::output_of_own_child({"bench", "--case", nlohmann::json(what).dump(), what.model});
  const nlohmann::json parsed = nlohmann::json::parse(output.text, nullptr, false);
  if (parsed.is_object() && parsed.contains("error")) throw std::runtime_error(parsed["error"].get<std::string>());
  if (!parsed.is_object()) {
    throw std::runtime_error(output.signal != 0
                                 ? "the measuring process was ended by signal " + std::to_string(output.signal)
                                 : "the measuring process ended without a result");
  }
  return parsed.at("measurement").get<Measurement>();
}

namespace {

std::string text_of(const nlohmann::json& answer) {
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Formats the message that this process writes if the mapped model is truncated. The parent process reads it as the
// error of the case.
files::FinalMessage final_message(const std::string& sentence) { return {text_of({{"error", sentence}}), ""}; }

}  // namespace

int run_case(const std::string& json, const std::string& model, const DescribeProfile& describe_profile) {
  system::end_with_parent();
  files::set_final_message(final_message);
  nlohmann::json answer;
  try {
    Case what = nlohmann::json::parse(json).get<Case>();
    what.model = model;
    answer["measurement"] = measure(what, describe_profile);
  } catch (const std::exception& error) {
    answer = {{"error", error.what()}};
  }
  std::fputs(text_of(answer).c_str(), stdout);
  return answer.contains("error") ? 1 : 0;
}

}  // namespace linformer::bench
