// How long a session's ops took.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Session::profile() with the same op of several layers as one line, slowest first. Throws DataError where it fails.
struct ProfiledOp {
  std::vector<int> layers;  // empty: an op of no layer
  ProgramLine line;         // of the first layer, but with the sums of all, and names as they all have them
};
std::vector<ProfiledOp> profile_of(const Session& session);

std::string profile_text(const Plan& plan, const std::vector<ProfiledOp>& ops);
nlohmann::ordered_json profile_json(const Plan& plan, const std::vector<ProfiledOp>& ops);

// Prints either on standard error where the session was created with SessionOptions::profile.
void report_profile(const Session& session, bool json);

}  // namespace linformer::cli
