# Turns the plain comments of a header into comments that Doxygen reads: the file's first comment, comments before a
# declaration, and comments after a declaration on its line. Characters that Doxygen would read as a command or a tag
# are escaped, and words between backticks are shown as code.

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

# The following lines of a /* comment, up to its end.
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
