# SPDX-License-Identifier: Apache-2.0
"""Prints sandbox/word_characters.cpp: the code points that Python counts as word characters."""
import sys,re
w=re.compile(r'\w')
ranges=[];start=None
for c in range(0x110000):
    ok = not (0xD800<=c<=0xDFFF) and bool(w.match(chr(c)))
    if ok and start is None: start=c
    if not ok and start is not None: ranges.append((start,c-1)); start=None
print(len(ranges), file=sys.stderr)
import unicodedata
print('// SPDX-License-Identifier: Apache-2.0')
print('// Made by tests/sandbox/word_characters.py: what re.match(r"\\w") takes with Unicode '+unicodedata.unidata_version+'. First and last of each range.')
print('#include "sandbox/word_characters.hpp"\n\nnamespace regatta::sandbox {\n')
print('// clang-format off\nconst word_range word_ranges[] = {')
line='   '
for a,b in ranges:
    item=' {0x%X, 0x%X},'%(a,b)
    if len(line)+len(item)>118: print(line); line='   '
    line+=item
print(line)
print('};\n// clang-format on\nconst std::size_t word_range_count = sizeof word_ranges / sizeof word_ranges[0];\n\n}  // namespace regatta::sandbox')
