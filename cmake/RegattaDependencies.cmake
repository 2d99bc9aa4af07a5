# SPDX-License-Identifier: Apache-2.0
# Everything we build on, found once. Debian and Ubuntu package all of it (scripts/setup.sh has the names).
find_package(Threads REQUIRED)
find_package(CAF 0.17.6 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(CURL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(LibArchive REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(cppzmq REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(CMARK REQUIRED IMPORTED_TARGET libcmark)
# Header only; its CMake package is called msgpack on Debian 12, msgpack-cxx on 13.
find_path(MSGPACK_INCLUDE_DIR msgpack.hpp REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
