#include "layers/rules.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "layers/folder_rules.h"

namespace linformer_test {
namespace {

namespace fs = std::filesystem;

struct Layer {
  std::set<std::string> may_use;         // Lower layers that this layer may include.
  std::set<std::string> libraries;       // The first components or whole names of permitted includes in angle brackets.
  std::set<std::string> not_these = {};  // Headers that it may not include although their layer is lower.
};

// The layers from the lowest to the highest. `text` uses neither model nor session: it reads descriptions, but no
// weights.
const std::map<std::string, Layer>& layers() {
  static const std::map<std::string, Layer> table = [] {
    std::map<std::string, Layer> t;
    t["base"] = {{}, {}};
    t["io"] = {{"base"}, {"flatbuffers", "xxhash.h"}};
    t["kernels"] = {{"base", "io"}, {"xsimd", "immintrin.h", "arm_neon.h"}};
    t["gemm"] = {{"base", "io", "kernels"}, {"oneapi", "dnnl.h", "dnnl.hpp", "dnnl_types.h", "cblas.h", "omp.h"}};
    t["model"] = {{"base", "io"}, {"flatbuffers", "xxhash.h"}};
    t["program"] = {{"base", "io", "model"}, {}};
    // The executor runs programs. Only the code that lowers models may use descriptions and models.
    t["cpu"] = {
        {"base", "kernels", "gemm", "program"},
        {},
        {"base/description.h", "linformer/model.h", "linformer/session.h", "program/lower.h", "program/listing.h"}};
    t["cuda"] = {{"base", "program"},
                 {"cuda_runtime_api.h", "cublasLt.h", "cuda_fp16.h", "cuda_bf16.h", "mma.h"},
                 t["cpu"].not_these};
    t["session"] = {{"base", "io", "kernels", "gemm", "model", "program", "cpu", "cuda"}, {}};
    t["text"] = {{"base", "io"}, {"utf8proc.h"}};
    // `pipeline` uses the kernels, because VectorSearch multiplies rows of the caller without a session.
    t["pipeline"] = {{"base", "io", "kernels", "model", "session", "text"}, {}};
    t["c_api"] = {{"base", "io", "kernels", "gemm", "model", "program", "cpu", "cuda", "session", "text", "pipeline"},
                  {}};
    return t;
  }();
  return table;
}

// The lowest layer that may include each public header. A new public header must be added here.
const std::map<std::string, std::string>& public_headers() {
  static const std::map<std::string, std::string> table = {{"version.h", "base"},
                                                           {"build_info.h", "session"},
                                                           {"status.h", "base"},
                                                           {"types.h", "base"},
                                                           {"model_info.h", "model"},
                                                           {"model.h", "model"},
                                                           {"verify.h", "model"},
                                                           {"session.h", "session"},
                                                           {"session_options.h", "base"},
                                                           {"output.h", "base"},
                                                           {"text_input.h", "pipeline"},
                                                           {"classifier.h", "pipeline"},
                                                           {"embedder.h", "pipeline"},
                                                           {"tokenizer.h", "text"},
                                                           {"text_reader.h", "pipeline"},
                                                           {"text_runner.h", "pipeline"},
                                                           {"masked_lm.h", "pipeline"},
                                                           {"mask_filler.h", "pipeline"},
                                                           {"sequence_batch.h", "pipeline"},
                                                           {"tagger.h", "pipeline"},
                                                           {"answerer.h", "pipeline"},
                                                           {"reranker.h", "pipeline"},
                                                           {"top_scores.h", "pipeline"},
                                                           {"vector_search.h", "pipeline"},
                                                           {"zero_shot.h", "pipeline"},
                                                           {"sparse_embedder.h", "pipeline"}};
  return table;
}

const std::set<std::string>& known_libraries() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    for (const auto& [name, layer] : layers()) all.insert(layer.libraries.begin(), layer.libraries.end());
    return all;
  }();
  return names;
}

const std::set<std::string> forbidden_headers = {"iostream", "fstream", "ostream", "istream",   "sstream",
                                                 "regex",    "locale",  "thread",  "stdexcept", "filesystem"};

// The names in forbidden_calls are forbidden before a parenthesis, and those in forbidden_words everywhere.
const std::set<std::string> forbidden_calls = {
    "printf", "fprintf", "vprintf", "vfprintf", "puts", "fputs", "putchar", "perror", "fwrite", "abort", "exit",
    "_exit", "_Exit", "quick_exit", "terminate", "assert", "raise", "kill", "setenv", "putenv", "unsetenv", "setlocale",
    "signal", "sigaction", "system", "openblas_set_num_threads", "dnnl_set_verbose", "dnnl_set_max_cpu_isa",
    // The waits of std::atomic define a GNU unique symbol. platform::wait_while() replaces them.
    "notify_one", "notify_all"};
const std::set<std::string> forbidden_words = {"try",    "catch", "throw", "dynamic_cast",
                                               "typeid", "cout",  "cerr",  "clog"};

// Headers of the operating system and folders of headers, which only base/platform_*.cc may include.
const std::set<std::string> system_headers = {
    "unistd.h",  "fcntl.h", "pthread.h", "dlfcn.h",     "sched.h",   "errno.h", "cerrno",
    "signal.h",  "csignal", "poll.h",    "dirent.h",    "time.h",    "spawn.h", "syscall.h",
    "malloc.h",  "mman.h",  "termios.h", "netdb.h",     "ifaddrs.h", "link.h",  "elf.h",
    "windows.h", "io.h",    "process.h", "semaphore.h", "cpuid.h",   "intrin.h"};
const std::set<std::string> system_folders = {"sys",  "linux", "asm", "asm-generic", "mach",
                                              "bits", "arpa",  "net", "netinet"};

// Types whose allocations throw std::bad_alloc. Only base/array.h may use them: some of its functions, which are for
// programs that use the library, throw too.
const std::set<std::string> throwing_types = {
    "vector",          "string",        "map",         "set",           "multimap",        "multiset",
    "unordered_map",   "unordered_set", "deque",       "list",          "forward_list",    "queue",
    "priority_queue",  "stack",         "function",    "any",           "make_unique",     "make_shared",
    "allocate_shared", "to_string",     "stable_sort", "inplace_merge", "stable_partition"};
const std::set<std::string> throwing_members = {"push_back", "emplace_back", "emplace", "resize", "reserve", "insert"};

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string first_component(const std::string& path) { return path.substr(0, path.find('/')); }

bool allowed(const std::string& from, const std::string& to) {
  if (from == to) return true;
  const auto layer = layers().find(from);
  return layer != layers().end() && layer->second.may_use.count(to) != 0;
}

template <class Callback>
void for_each_line(const std::string& text, Callback&& callback) {
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) callback(number, line);
}

std::string check_quoted(const std::string& layer, bool is_public, const std::string& target) {
  if (!is_public && layers().at(layer).not_these.count(target) != 0) return "layer " + layer + " may not include it";
  if (target.starts_with("linformer/")) {
    const auto header = public_headers().find(target.substr(10));
    if (header == public_headers().end()) return "public header that tests/layers does not list";
    if (!is_public && !allowed(layer, header->second)) return "public header of the higher layer " + header->second;
    return {};
  }
  if (is_public) return "a public header may include only public headers";
  if (target.find("_generated.h") != std::string::npos) {
    return layers().at(layer).libraries.count("flatbuffers") ? "" : "generated metadata code belongs to io and model";
  }
  // The parts of linformer.h are installed in one folder, so they include each other by name without a path.
  const bool is_part = target.starts_with("linformer_") && target.find('/') == std::string::npos;
  if (layer == "c_api" && (is_part || target == "linformer.h")) return {};
  if (target.find('/') == std::string::npos) return "write the path from runtime/";
  const std::string other = first_component(target);
  if (layers().count(other) == 0) return "not a layer of the runtime";
  if (!allowed(layer, other)) return "layer " + layer + " may not include layer " + other;
  return {};
}

std::string check_angled(const std::string& layer, bool is_public, const std::string& target) {
  const std::string library = first_component(target);
  if (forbidden_headers.count(target)) return "the runtime may not include this header";
  if (known_libraries().count(library) == 0) return {};
  if (is_public) return "a public header may not include a third-party library";
  if (layers().at(layer).libraries.count(library) == 0) return "layer " + layer + " may not include this library";
  return {};
}

}  // namespace

std::string without_comments_and_literals(const std::string& source) {
  std::string out = source;
  enum { code, line_comment, block_comment, text, character, raw } state = code;
  std::string raw_end;
  const auto blank = [&](size_t i) {
    if (out[i] != '\n') out[i] = ' ';
  };
  for (size_t i = 0; i < source.size(); ++i) {
    const char c = source[i], next = i + 1 < source.size() ? source[i + 1] : '\0';
    switch (state) {
      case code:
        if (c == '/' && next == '/') {
          state = line_comment;
          blank(i);
        } else if (c == '/' && next == '*') {
          state = block_comment;
          blank(i);
          blank(++i);
        } else if (c == 'R' && next == '"') {
          const size_t open = source.find('(', i);
          raw_end = ")" + source.substr(i + 2, open - i - 2) + "\"";
          state = raw;
          blank(i);
        } else if (c == '"') {
          state = text;
        } else if (c == '\'' && !(i > 0 && std::isalnum(static_cast<unsigned char>(source[i - 1])))) {
          state = character;  // The quote isn't the separator of 1'000.
        }
        break;
      case line_comment:
        if (c == '\n') state = code;
        blank(i);
        break;
      case block_comment:
        if (c == '*' && next == '/') {
          blank(i++);
          state = code;
        }
        blank(i);
        break;
      case text:
      case character:
        if (c == '\\') {
          blank(i++);
          if (i < source.size()) blank(i);
        } else if (c == (state == text ? '"' : '\'')) {
          state = code;
        } else {
          blank(i);
        }
        break;
      case raw:
        if (source.compare(i, raw_end.size(), raw_end) == 0) {
          for (size_t end = i + raw_end.size(); i < end; ++i) blank(i);
          --i;
          state = code;
        } else {
          blank(i);
        }
        break;
    }
  }
  return out;
}

Findings check_includes(const std::string& file, const std::string& source) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  Findings findings;
  const bool is_public = file.starts_with("include/linformer/");
  const std::string layer = is_public ? "" : first_component(file);
  if (is_public && public_headers().count(file.substr(18)) == 0) {
    findings.push_back({file, 1, "public header that tests/layers does not list"});
  } else if (!is_public && layers().count(layer) == 0) {
    findings.push_back({file, 1, "not in a layer of the runtime"});
    return findings;
  }
  for_each_line(source, [&](int number, const std::string& line) {
    std::smatch match;
    if (!std::regex_search(line, match, pattern)) return;
    const std::string problem =
        match[1] == "<" ? check_angled(layer, is_public, match[2]) : check_quoted(layer, is_public, match[2]);
    if (!problem.empty()) findings.push_back({file, number, "includes " + match[2].str() + ": " + problem});
  });
  return findings;
}

Findings check_system_includes(const std::string& file, const std::string& source) {
  static const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])"), platform(R"(base/platform_[a-z0-9_]+\.cc)");
  if (std::regex_match(file, platform)) return {};
  Findings findings;
  for_each_line(source, [&](int number, const std::string& line) {
    std::smatch match;
    if (!std::regex_search(line, match, include)) return;
    std::string header = match[1];
    std::transform(header.begin(), header.end(), header.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool in_folder = header.find('/') != std::string::npos && system_folders.count(first_component(header)) != 0;
    if (in_folder || system_headers.count(header) != 0) {
      findings.push_back({file, number, "includes " + header + ": call the system through base/platform.h"});
    }
  });
  return findings;
}

Findings check_forbidden_calls(const std::string& file, const std::string& source) {
  static const std::regex word(R"([A-Za-z_][A-Za-z0-9_]*)");
  Findings findings;
  for_each_line(without_comments_and_literals(source), [&](int number, const std::string& line) {
    if (line.find_first_not_of(" \t") != std::string::npos && line[line.find_first_not_of(" \t")] == '#') return;
    for (std::sregex_iterator it(line.begin(), line.end(), word), end; it != end; ++it) {
      const std::string name = it->str();
      const size_t after = line.find_first_not_of(' ', static_cast<size_t>(it->position()) + name.size());
      const bool called = after != std::string::npos && line[after] == '(';
      if (forbidden_words.count(name) || (called && forbidden_calls.count(name))) {
        findings.push_back({file, number, "the runtime may not use " + name});
      }
    }
  });
  return findings;
}

Findings check_containers(const std::string& file, const std::string& source) {
  if (file == "base/array.h") return {};
  static const std::regex type(R"(\bstd::([a-z_]+))"), member(R"((?:\.|->)\s*([a-z_]+)\s*\()"),
      made(R"(\bnew\b\s*(\S*))");
  Findings findings;
  const auto look_for = [&](const std::regex& pattern, const std::string& line, int number, auto&& forbidden) {
    for (std::sregex_iterator it(line.begin(), line.end(), pattern), end; it != end; ++it) {
      if (!forbidden((*it)[1].str())) continue;
      findings.push_back(
          {file, number, "throws if memory runs out: " + it->str() + "; use Array, String or a try_ function"});
    }
  };
  for_each_line(without_comments_and_literals(source), [&](int number, const std::string& line) {
    if (line.find_first_not_of(" \t") != std::string::npos && line[line.find_first_not_of(" \t")] == '#') return;
    look_for(type, line, number, [](const std::string& name) { return throwing_types.count(name) != 0; });
    look_for(member, line, number, [](const std::string& name) { return throwing_members.count(name) != 0; });
    look_for(made, line, number, [](const std::string& next) { return !next.starts_with("(std::nothrow)"); });
  });
  return findings;
}

Findings check_links(const std::string& file, const std::string& cmake) {
  static const std::regex command(R"(target_link_libraries\s*\(\s*([^\s)]+)([^)]*)\))");
  static const std::regex target(R"(\blinformer_([a-z_]+))");
  Findings findings;
  for (std::sregex_iterator it(cmake.begin(), cmake.end(), command), end; it != end; ++it) {
    const std::string owner = (*it)[1], libraries = (*it)[2];
    // A target in the folder of a layer belongs to that layer, whatever its name is.
    const std::string layer = first_component(file);
    if (layers().count(layer) == 0) continue;
    const int line = 1 + static_cast<int>(std::count(cmake.begin(), cmake.begin() + it->position(), '\n'));
    for (std::sregex_iterator library(libraries.begin(), libraries.end(), target); library != end; ++library) {
      const std::string other = first_component((*library)[1]);
      const bool is_layer = layers().count(other) != 0;
      const bool outside = other == "converter" || other == "writer" || other == "readers" || other == "cli";
      if (outside || (is_layer && !allowed(layer, other))) {
        findings.push_back({file, line, owner + " links " + library->str() + ", which is not a lower layer"});
      }
    }
  }
  return findings;
}

Findings check_machine_paths(const std::string& file, const std::string& text) {
  // Each pattern is written in two parts, because this file must follow the rule too.
  static const std::vector<std::string> patterns = {
      std::string("/ro") + "ot/",          std::string("/ho") + "me/",    std::string("/Us") + "ers/",
      std::string("/wo") + "rk/",          std::string("/tmp") + "/linf", std::string("C:") + "\\Users",
      std::string("deb.") + "debian",      std::string("pypi.") + "org",  std::string("pytho") + "nhosted",
      std::string("artifact") + "registry"};
  Findings findings;
  for_each_line(text, [&](int number, const std::string& line) {
    for (const std::string& pattern : patterns) {
      if (line.find(pattern) != std::string::npos) findings.push_back({file, number, "names " + pattern});
    }
  });
  return findings;
}

Findings check_temporary_files(const std::string& file, const std::string& source) {
  if (!file.starts_with("tests/") || file.ends_with("/temporary_folder.h")) return {};
  Findings findings;
  for_each_line(without_comments_and_literals(source), [&](int number, const std::string& line) {
    if (line.find("temp_directory_path") == std::string::npos && line.find("mkdtemp") == std::string::npos) return;
    findings.push_back({file, number, "makes a temporary folder: use support/temporary_folder.h"});
  });
  return findings;
}

Findings check_length(const std::string& file, const std::string& text) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  if (lines <= 400) return {};
  return {{file, static_cast<int>(lines), "longer than 400 lines"}};
}

Report check_tree(const fs::path& root) {
  static const std::set<std::string> code = {".h",     ".cc",  ".inc", ".py", ".sh",
                                             ".cmake", ".fbs", ".txt", ".md", ".json"};
  Report report;
  std::map<std::string, int> files_in;  // The number of files in each folder.
  const auto add = [](Findings& all, Findings found) { all.insert(all.end(), found.begin(), found.end()); };
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory()) {
      if (name == ".git" || name.starts_with("build") || name == "__pycache__") it.disable_recursion_pending();
      continue;
    }
    const std::string extension = it->path().extension().string();
    if (!it->is_regular_file() || name == ".git") continue;  // In a worktree .git is a file.
    ++files_in[fs::relative(it->path().parent_path(), root).generic_string()];
    const bool script = extension.empty() && it->file_size() < (64u << 10);
    if ((code.count(extension) == 0 && !script) || it->file_size() > (4u << 20)) continue;
    const std::string file = fs::relative(it->path(), root).generic_string();
    const std::string text = read_text(it->path());
    ++report.files;
    add(report.errors, check_machine_paths(file, text));
    add(report.errors, check_folder_rules(file, text));
    if (extension == ".h" || extension == ".cc" || extension == ".py") add(report.warnings, check_length(file, text));
    if (extension == ".h" || extension == ".cc") add(report.errors, check_temporary_files(file, text));
    if (file.starts_with("apps/") && (extension == ".h" || extension == ".cc")) {
      ++report.program_files;
      add(report.errors, check_program_includes(file, text));
    }
    if (!file.starts_with("runtime/")) continue;
    const std::string inner = file.substr(8);
    if (extension == ".h" || extension == ".cc" || extension == ".inc") {
      ++report.runtime_files;
      add(report.errors, check_includes(inner, text));
      add(report.errors, check_system_includes(inner, text));
      add(report.errors, check_forbidden_calls(inner, text));
      add(report.errors, check_containers(inner, text));
    } else if (name == "CMakeLists.txt") {
      add(report.errors, check_links(inner, text));
    }
  }
  for (const auto& [folder, files] : files_in) add(report.errors, check_file_count(folder, files));
  return report;
}

}  // namespace linformer_test
