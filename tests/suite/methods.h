// The methods that a shim in place of pi-readcache's sources calls (section 13 of the read cache's contract): each takes an
// array of arguments and answers a value, or an error whose message the shim throws.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "json/value.h"
#include "readcache/trust.h"
#include "service/read_source.h"
#include "service/service.h"

namespace weir::suite {

// A store and a door for one working directory.
struct Host {
  std::string directory;
  std::unique_ptr<Service> service;
  std::unique_ptr<ReadSource> source;

  // The file of an object, where a test removes it.
  std::string object_path(const Digest& digest) const;
};

class Methods {
 public:
  // `home`: what ~ stands for; empty: a name like any other.
  Methods(std::string directory, std::string home) : directory_(std::move(directory)), home_(std::move(home)) {}

  // {"method","args"} -> {"result"}, {} for undefined, or {"error":{"message"}}.
  std::string call(const std::string& request);

 private:
  struct Arguments;
  Result<json::Value> run(std::string_view method, const Arguments& args, json::Arena& arena);

  Result<json::Value> read(const Arguments& args, json::Arena& arena);
  Result<json::Value> refresh(const Arguments& args, json::Arena& arena);
  Result<json::Value> status(const Arguments& args, json::Arena& arena);
  Result<json::Value> knowledge(const Arguments& args, json::Arena& arena);
  Result<json::Value> blocked(const Arguments& args, json::Arena& arena);
  Result<json::Value> overlay_set(const Arguments& args, json::Arena& arena);

  Result<Host*> host(const std::string& cwd);
  // The state's own session for the snapshot's, brought to the snapshot.
  Result<SessionId> bring(Host& host, const Arguments& args, json::Arena& arena);
  Result<TrustFold::State> trust(Host& host, const SessionId& session, bool has_children);

  const std::string directory_, home_;
  std::map<std::string, Host> hosts_;  // by working directory
  int states_ = 0;
};

// pi-readcache's functions without state, by their names there.
Result<json::Value> pure(std::string_view name, std::span<const json::Value> args, const std::string& home,
                         FunctionRef<Result<Host*>(const std::string&)> host, json::Arena& arena);

// [[path,[[scope,{hash,seq}]]]]
json::Value slots_json(const TrustFold::State& state, json::Arena& arena);

}  // namespace weir::suite
