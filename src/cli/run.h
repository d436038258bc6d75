// One run of the program: what was typed, the settings, the store once it is wanted, and where output goes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/terminal.h"
#include "json/canonical.h"
#include "service/config.h"
#include "service/service.h"

namespace weir::cli {

class Run {
 public:
  Run(Arguments arguments, Doors doors);

  const Arguments& arguments() const { return arguments_; }
  bool flag(std::string_view option) const { return arguments_.has(option); }
  std::optional<std::string> option(std::string_view name) const { return arguments_.value(name); }
  std::optional<std::uint64_t> number(std::string_view name) const;
  // The i-th word, or nothing.
  std::optional<std::string> word(std::size_t i) const;
  bool dry_run() const { return flag("dry-run"); }
  bool json() const { return json_; }
  const Doors& doors() const { return doors_; }

  // Settings and store, read and opened on first use.
  Result<const Config*> config();
  Result<Service*> service(Store::Access access);
  Result<ServiceSettings> settings();
  Config::Sources config_sources() const;
  // A call that fails must not leave a store behind that was not there: it is tried on one in memory first. False in a
  // dry run, which works on one in memory anyway.
  bool store_missing();
  Result<std::unique_ptr<Service>> trial_service();
  Result<std::unique_ptr<Service>> memory_service();  // of nothing else, whatever the settings say
  // http.token_file, else a file below the state directory. STORE_UNUSABLE: there is no place for one.
  Result<std::string> token_file();
  // Those of Weir's files outside the store that no read may leave a trace of.
  std::vector<std::string> own_files();

  // Option, then WEIR_SESSION, then the store's only session.
  Result<SessionId> session(Store::Access access);
  Result<std::optional<SessionId>> named_session() const;  // the first two only
  Result<HeadName> head() const;
  Result<std::optional<HeadName>> named_head() const;
  Result<Address> address();

  // ---- output ----
  const Painter& paint() const { return paint_; }
  std::size_t width() const { return width_; }
  void print(std::string_view text);       // to stdout, as it is
  void line(std::string_view text);        // with a line feed
  void data(std::string_view json);        // the same for JSON text, harmless on a terminal
  void data_piece(std::string_view json);  // a part of such a line
  void object(const json::Value& value);   // one line of JSON
  void note(std::string_view text);        // to stderr, unless --quiet
  // A stream: begin, any number of objects or raw lines, end.
  void stream_begin(json::ObjectBuilder& members, json::Arena& arena);
  void stream_line(std::string_view text);
  void stream_end(std::uint64_t count);
  Result<void> flush();
  // What was written is read, out of a pipe too; false if that takes longer. What is captured is.
  bool wait_until_read(int most_ms) const;
  // From now on output is kept instead of printed, and drawn `narrower` columns narrower.
  void capture(std::size_t narrower);
  const std::string& captured() const { return out_; }

  std::unique_ptr<Progress> progress(std::string what);
  // False once the user or the deadline asks to stop.
  bool keep_going() const;
  bool timed_out() const;
  // The signal that asks a server to end; SIGTERM also when the time is over.
  int end_signal() const;

  // On a terminal asks; elsewhere needs --yes. DENIED if the answer is no.
  Result<void> confirm(const std::string& what);

  // Input: a file, or standard input for "-".
  Result<std::string> read_input(const std::string& name, std::size_t most);

 private:
  Arguments arguments_;
  Doors doors_;
  bool json_;
  Painter paint_;
  std::size_t width_;
  std::optional<Config> config_;
  std::unique_ptr<Service> service_;
  Store::Access access_ = Store::Access::read;
  std::string out_;
  bool write_failed_ = false;
  bool capturing_ = false;
  bool terminal_;
  std::int64_t deadline_ms_ = 0;  // of the steady clock; 0: none
};

// Set by SIGINT and SIGTERM.
int pending_signal();
void install_signal_handlers();

std::string environment(const char* name);  // empty if it is not set

// SQLite's temporary files go there, from now on; before the first store is opened.
void keep_temporary_files_in(const std::string& directory);

}  // namespace weir::cli
