// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text from outside made fit to be kept and shown. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace regatta {

/// Every ill-formed sequence becomes U+FFFD; surrogates and overlong forms are ill-formed, NUL is not.
std::string repair_utf8(std::string_view bytes);

/// Length of the longest prefix that does not end inside a character that may still be completed.
std::size_t whole_characters(std::string_view bytes);

/// The last `size` bytes at most, beginning at a character.
std::string_view text_tail(std::string_view text, std::size_t size);

/// False if there is nothing but blanks, control characters, marks without a width and U+FFFD: a text that brings
/// nothing.
bool has_readable(std::string_view text);

/// `text` with `[redacted]` wherever `secret` stands in it. At its end half of it is enough: what was cut there was no
/// less secret. One of fewer than six bytes is a word, and left alone.
std::string without_secret(std::string_view text, std::string_view secret);

/// Length of what can be told of `text` before more of it has come: behind it `secret` may have begun.
std::size_t before_secret(std::string_view text, std::string_view secret);

/// For error texts: `secret` blanked out wherever it stands, UTF-8 repaired, control characters (line ends too)
/// replaced by spaces, cut to 2,000 bytes.
std::string presentable(std::string_view text, std::string_view secret);

}  // namespace regatta
