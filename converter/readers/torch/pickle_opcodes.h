// The opcodes of pickle protocols 2 to 5 that the machine knows, from CPython's Lib/pickletools.py. Every other opcode
// is an error.
#pragma once

#include <cstdint>

namespace linformer::convert {

enum Opcode : uint8_t {
  op_mark = '(',
  op_stop = '.',
  op_pop = '0',
  op_pop_mark = '1',
  op_binint = 'J',
  op_binint1 = 'K',
  op_binint2 = 'M',
  op_none = 'N',
  op_binpersid = 'Q',
  op_reduce = 'R',
  op_binstring = 'T',
  op_short_binstring = 'U',
  op_binunicode = 'X',
  op_append = 'a',
  op_build = 'b',
  op_global = 'c',
  op_empty_dict = '}',
  op_appends = 'e',
  op_binget = 'h',
  op_long_binget = 'j',
  op_empty_list = ']',
  op_binput = 'q',
  op_long_binput = 'r',
  op_setitem = 's',
  op_tuple = 't',
  op_empty_tuple = ')',
  op_setitems = 'u',
  op_binfloat = 'G',
  op_proto = 0x80,
  op_newobj = 0x81,
  op_tuple1 = 0x85,
  op_tuple2 = 0x86,
  op_tuple3 = 0x87,
  op_newtrue = 0x88,
  op_newfalse = 0x89,
  op_long1 = 0x8a,
  op_long4 = 0x8b,
  op_binbytes = 'B',
  op_short_binbytes = 'C',
  op_short_binunicode = 0x8c,
  op_binunicode8 = 0x8d,
  op_binbytes8 = 0x8e,
  op_empty_set = 0x8f,
  op_additems = 0x90,
  op_frozenset = 0x91,
  op_newobj_ex = 0x92,
  op_stack_global = 0x93,
  op_memoize = 0x94,
  op_frame = 0x95
};

}  // namespace linformer::convert
