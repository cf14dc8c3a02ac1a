# Turns the plain comments of a header into those that Doxygen reads: of a file (its first comment), before a
# declaration, and behind one on the same line. Text in comments is plain, so what Doxygen would take for a command or a
# tag is escaped, and what stands between backticks is shown as code.

function text(s) {
  gsub(/\\/, "\\\\\\\\", s)
  gsub(/&/, "\\&amp;", s)
  gsub(/</, "\\&lt;", s)
  gsub(/>/, "\\&gt;", s)
  gsub(/[@#%"]/, "\\\\&", s)
  while (match(s, /`[^`]+`/)) {
    s = substr(s, 1, RSTART - 1) "<tt>" substr(s, RSTART + 1, RLENGTH - 2) "</tt>" substr(s, RSTART + RLENGTH)
  }
  return s
}

# A comment of C that a line began goes on until its end.
in_comment {
  print text($0)
  if (/\*\//) in_comment = 0
  next
}

FNR == 1 && /^\/\/ / { print "/// \\file"; print "///" text(substr($0, 3)); next }
FNR == 1 && /^\/\* / {
  print "/** \\file"
  print " *" text(substr($0, 3))
  in_comment = !/\*\//
  next
}
/^ *\/\/ / { at = index($0, "//"); print substr($0, 1, at - 1) "///" text(substr($0, at + 2)); next }
/^ *\/\* ---/ { print; next }
/^ *\/\* / {
  at = index($0, "/*")
  print substr($0, 1, at - 1) "/**" text(substr($0, at + 2))
  in_comment = !/\*\//
  next
}
/^ *[^ }#].*  \/\/ / { at = index($0, "  // "); print substr($0, 1, at + 1) "///<" text(substr($0, at + 4)); next }
/^ *[^ }#].* \/\* .*\*\/$/ { at = index($0, " /* "); print substr($0, 1, at) "/**<" text(substr($0, at + 3)); next }
{ print }
