// This file is compiled once for each version of the library. USE is the name of the function that it defines, and
// LINFORMER_VERSION_NAMESPACE is defined for one of the versions.
#include "linformer/session.h"
#include "linformer/version.h"
#include "two_versions.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

Answer USE(std::span<const std::byte> bytes) {
  Answer answer{.version_namespace = TEXT(LINFORMER_VERSION_NAMESPACE), .probabilities = {}, .error = {}};
  if (linformer::LINFORMER_VERSION_NAMESPACE::library_version() != linformer::header_version) return answer;
  auto model = linformer::Model::load(bytes);
  if (!model.ok()) {
    answer.error = model.status().message();
    return answer;
  }
  auto session = linformer::Session::create(*model, {});
  if (!session.ok()) {
    answer.error = session.status().message();
    return answer;
  }
  const int32_t ids[] = {4, 5, 6, 7};
  const linformer::Tokens text = ids;
  answer.probabilities.resize(static_cast<size_t>((*model)->head(0).classes));
  const linformer::Status status = session->run({&text, 1}, linformer::Output::probabilities(answer.probabilities));
  if (!status.ok()) answer.error = status.message();
  return answer;
}
