// Signed notes (c2sp.org/signed-note, golang.org/x/mod/sumdb/note): a text, an empty line, and a line for each
// signature, "— NAME BASE64", whose bytes are four that name the key and an Ed25519 signature of the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

class NoteKey {
 public:
  // One to sign with; `secret` is 32 bytes of chance. The name has no white space and no plus.
  static NoteKey make(std::string name, std::string secret);
  // A signer key, "PRIVATE+KEY+NAME+ID+BASE64", or a verifier key, "NAME+ID+BASE64". INVALID_FIELD for anything else; the
  // message never holds the text.
  static Result<NoteKey> parse(std::string_view text);

  const std::string& name() const { return name_; }
  std::string id() const;  // eight hex digits, of the name and the public key
  bool can_sign() const { return !secret_.empty(); }
  std::string signer_key() const;
  std::string verifier_key() const;

  // The whole signature line. Only for a key that can sign.
  std::string sign(std::string_view text) const;
  bool verify(std::string_view text, std::string_view signature) const;

 private:
  std::string name_, public_, secret_;
};

struct NoteSignature {
  std::string name, key_id;
  std::string bytes;  // without the key's id
};

// Lines as sign() writes them, one after another. INVALID_FIELD for anything else.
Result<std::vector<NoteSignature>> parse_signatures(std::string_view lines);

}  // namespace weir
