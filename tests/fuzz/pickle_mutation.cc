#include "fuzz/pickle_mutation.h"

#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "converter/checkpoint_writer.h"
#include "converter/readers/budget.h"
#include "converter/readers/torch/pickle_opcodes.h"
#include "converter/readers/torch/zip_directory.h"

namespace linformer_fuzz {
namespace {

using namespace linformer::convert;

// An opcode of a pickle with its argument.
struct Instruction {
  uint8_t opcode;
  std::string argument;  // The length that precedes some arguments is left out.
};

// Returns how many bytes encode the length before the argument; 0 if the opcode has no length.
size_t length_bytes(uint8_t opcode) {
  switch (opcode) {
    case op_short_binstring:
    case op_short_binbytes:
    case op_short_binunicode:
    case op_long1:
      return 1;
    case op_binstring:
    case op_binunicode:
    case op_binbytes:
    case op_long4:
      return 4;
    case op_binunicode8:
    case op_binbytes8:
      return 8;
    default:
      return 0;
  }
}

size_t fixed_bytes(uint8_t opcode) {
  switch (opcode) {
    case op_proto:
    case op_binint1:
    case op_binget:
    case op_binput:
      return 1;
    case op_binint2:
      return 2;
    case op_binint:
    case op_long_binget:
    case op_long_binput:
      return 4;
    case op_binfloat:
    case op_frame:
      return 8;
    default:
      return 0;
  }
}

// Reads instructions from `bytes` up to and including the STOP of pickle number `pickles`, and removes them from
// `bytes`. A byte that isn't an opcode becomes an instruction without an argument.
std::vector<Instruction> read_instructions(std::string_view* bytes, size_t pickles) {
  std::vector<Instruction> program;
  const auto take = [&](size_t count) {
    const std::string_view taken = bytes->substr(0, count);
    bytes->remove_prefix(taken.size());
    return std::string(taken);
  };
  while (!bytes->empty() && pickles > 0) {
    Instruction next{static_cast<uint8_t>(bytes->front()), {}};
    bytes->remove_prefix(1);
    if (next.opcode == op_stop) --pickles;
    if (next.opcode == op_global) {
      const size_t first = bytes->find('\n'), second = first == bytes->npos ? first : bytes->find('\n', first + 1);
      next.argument = take(second == bytes->npos ? bytes->size() : second + 1);
    } else if (const size_t width = length_bytes(next.opcode); width > 0) {
      uint64_t length = 0;
      const std::string raw = take(width);
      std::memcpy(&length, raw.data(), raw.size());
      next.argument = take(static_cast<size_t>(length));
    } else {
      next.argument = take(fixed_bytes(next.opcode));
    }
    program.push_back(std::move(next));
  }
  return program;
}

std::string serialize(const std::vector<Instruction>& program) {
  std::string bytes;
  for (const Instruction& instruction : program) {
    bytes += static_cast<char>(instruction.opcode);
    const uint64_t length = instruction.argument.size();
    bytes.append(reinterpret_cast<const char*>(&length), length_bytes(instruction.opcode));
    bytes += instruction.argument;
  }
  return bytes;
}

constexpr uint8_t opcodes[] = {op_mark,         op_stop,        op_pop,           op_pop_mark,
                               op_binint,       op_binint1,     op_binint2,       op_none,
                               op_binpersid,    op_reduce,      op_binunicode,    op_append,
                               op_build,        op_global,      op_empty_dict,    op_appends,
                               op_binget,       op_long_binget, op_empty_list,    op_binput,
                               op_long_binput,  op_setitem,     op_tuple,         op_empty_tuple,
                               op_setitems,     op_binfloat,    op_proto,         op_newobj,
                               op_tuple1,       op_tuple2,      op_tuple3,        op_newtrue,
                               op_newfalse,     op_long1,       op_long4,         op_binbytes,
                               op_empty_set,    op_additems,    op_frozenset,     op_newobj_ex,
                               op_stack_global, op_memoize,     op_frame,         op_short_binunicode,
                               op_binunicode8,  op_binbytes8,   op_short_binbytes};

constexpr const char* globals[] = {"torch._utils\n_rebuild_tensor_v2\n",
                                   "collections\nOrderedDict\n",
                                   "torch\nFloatStorage\n",
                                   "torch\nHalfStorage\n",
                                   "torch\nLongStorage\n",
                                   "torch._utils\n_rebuild_parameter\n",
                                   "argparse\nNamespace\n",
                                   "builtins\nset\n",
                                   "numpy.core.multiarray\nscalar\n",
                                   "torch.nn.modules.linear\nLinear\n"};

Instruction random_instruction(Random& random) {
  Instruction instruction{random.one_of(opcodes), {}};
  if (instruction.opcode == op_global) {
    instruction.argument = random.one_of(globals);
  } else {
    const size_t bytes = length_bytes(instruction.opcode) > 0 ? random.below(9) : fixed_bytes(instruction.opcode);
    const uint64_t number = random.one_in(2) ? random.below(40) : awkward_number(random);
    instruction.argument.assign(reinterpret_cast<const char*>(&number), std::min<size_t>(bytes, 8));
  }
  return instruction;
}

void alter_argument(Instruction* instruction, const std::vector<Instruction>& program, Random& random) {
  const Instruction& other = random.one_of(program);
  if (other.opcode == instruction->opcode && random.one_in(2)) {
    instruction->argument = other.argument;
  } else if (const size_t bytes = fixed_bytes(instruction->opcode); bytes > 0) {
    uint64_t number = 0;
    std::memcpy(&number, instruction->argument.data(), std::min(bytes, instruction->argument.size()));
    number = random.one_in(2) ? number + (random.one_in(2) ? 1 : ~uint64_t{0}) : awkward_number(random);
    instruction->argument.assign(reinterpret_cast<const char*>(&number), bytes);
  } else if (instruction->opcode == op_global) {
    instruction->argument = random.one_of(globals);
  } else if (length_bytes(instruction->opcode) > 0) {
    if (random.one_in(3)) {
      for (size_t i = 0; i < program.size(); ++i) {  // Takes another string of the pickle, such as a tensor's name.
        const Instruction& text = random.one_of(program);
        if (length_bytes(text.opcode) == 0) continue;
        instruction->argument = text.argument;
        break;
      }
    } else {
      mutate_bytes(&instruction->argument, instruction->argument.size() + 8);
    }
    if (length_bytes(instruction->opcode) == 1 && instruction->argument.size() > 255) instruction->argument.resize(255);
  }
}

void alter(std::vector<Instruction>* program, Random& random) {
  if (program->empty()) return;
  const size_t at = random.below(program->size());
  const auto place = program->begin() + static_cast<std::ptrdiff_t>(at);
  const size_t count = std::min(program->size() - at, random.one_in(3) ? random.below(30) + 1 : 1);
  switch (random.below(8)) {
    case 0:
      program->erase(place, place + static_cast<std::ptrdiff_t>(count));
      return;
    case 1: {  // Repeats a piece, here or at another place.
      const std::vector<Instruction> piece(place, place + static_cast<std::ptrdiff_t>(count));
      const size_t times = random.one_in(4) ? random.below(60) + 1 : 1;
      const size_t to = random.one_in(2) ? at : random.below(program->size());
      for (size_t i = 0; i < times; ++i) {
        program->insert(program->begin() + static_cast<std::ptrdiff_t>(to), piece.begin(), piece.end());
      }
      return;
    }
    case 2:
      program->insert(place, random_instruction(random));
      return;
    case 3:
      *place = random_instruction(random);
      return;
    case 4:
      std::swap(*place, random.one_of(*program));
      return;
    default:
      alter_argument(&*place, *program, random);
  }
}

}  // namespace

std::string altered_pickle(const std::string& bytes, size_t pickles, Random& random) {
  std::string_view rest = bytes;
  std::vector<Instruction> program = read_instructions(&rest, pickles);
  for (size_t i = random.below(4) + 1; i > 0; --i) alter(&program, random);
  return serialize(program) + std::string(rest);
}

std::string altered_torch_zip(const std::string& archive, size_t most, Random& random) {
  std::vector<linformer_test::HandZipEntry> entries;
  try {
    Budget budget;
    for (const ZipEntry& entry : read_zip_directory(std::as_bytes(std::span<const char>(archive)), budget)) {
      entries.push_back({entry.name, {reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()}});
    }
  } catch (const std::exception&) {
    return {};
  }
  if (entries.empty()) return {};
  for (linformer_test::HandZipEntry& entry : entries) {
    const bool pickle = entry.name.ends_with("data.pkl");
    if (pickle && !random.one_in(5)) {
      entry.bytes = altered_pickle(entry.bytes, 1, random);
    } else if (!pickle && random.one_in(2 * entries.size())) {
      mutate_bytes(&entry.bytes, entry.bytes.size() + (random.one_in(2) ? 0 : 16));
    } else if (random.one_in(10 * entries.size())) {
      mutate_bytes(&entry.name, entry.name.size() + 2);
    }
  }
  if (random.one_in(20)) entries.push_back(random.one_of(entries));
  std::string changed = linformer_test::zip_archive(entries);
  return changed.size() <= most ? changed : std::string();
}

}  // namespace linformer_fuzz
