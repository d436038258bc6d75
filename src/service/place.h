// The directory a store is in, or is to be made in: what of it is Weir's, and whether it may be taken.
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace weir {

// Is this the name of one of Weir's own files in a store's directory?
bool is_store_name(std::string_view name);

// Is there a database of Weir's? One that is empty was made and not filled yet; one that cannot be opened is taken for one.
bool is_store(Files& files, const std::string& directory);

// A store, nothing at all, or a directory that holds nothing but what may become a store; else STORE_UNUSABLE.
Result<void> check_place(Files& files, const std::string& directory);

// The same, and a directory that is about to become a store is closed to others.
Result<void> take_place(Files& files, const std::string& directory);

}  // namespace weir
