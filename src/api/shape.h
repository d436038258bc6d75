// What JSON is made of, in few words:
//   {name:string, entry:string|null, tags?:[string], state:"open"|"closed", more:{*:integer}, any:any}
// An object has the members that are named and no others, unless `...` ends them; `?` marks those that may be missing; `*` stands
// for every other name. The words are string, integer, number, boolean, null, object, array and any.
#pragma once

#include <string>
#include <string_view>

namespace weir::api {

// The same as a JSON Schema (2020-12). A shape is part of the program: one that is no shape ends it.
std::string schema_of(std::string_view shape);

}  // namespace weir::api
