#include "base/signed_note.h"

#include <algorithm>

#include "base/base64.h"
#include "base/check.h"
#include "base/ed25519.h"
#include "base/hex.h"
#include "base/sha256.h"

namespace weir {
namespace {

constexpr std::string_view kPrivate = "PRIVATE+KEY+", kDash = "\xE2\x80\x94 ";
constexpr char kAlgorithm = 1;  // Ed25519
constexpr std::size_t kIdBytes = 4;

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f && c != '+'; });
}

std::string id_bytes(std::string_view name, std::string_view public_key) {
  const Digest hash = Sha256().update(name).update("\n").update(std::string_view(&kAlgorithm, 1)).update(public_key).finish();
  return std::string(hash.bytes().substr(0, kIdBytes));
}

std::string encoded(std::string_view key) { return encode_base64(std::string(1, kAlgorithm) + std::string(key)); }

Error no_key() {
  return Error(ErrorCode::INVALID_FIELD,
               "this is no key of a note: it has the form NAME+ID+BASE64, or PRIVATE+KEY+NAME+ID+BASE64 to sign with");
}

}  // namespace

NoteKey NoteKey::make(std::string name, std::string secret) {
  WEIR_CHECK(is_name(name));
  NoteKey out;
  out.name_ = std::move(name);
  out.public_ = ed25519_public(secret);
  out.secret_ = std::move(secret);
  return out;
}

Result<NoteKey> NoteKey::parse(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const bool secret = text.starts_with(kPrivate);
  if (secret) text.remove_prefix(kPrivate.size());
  const std::size_t name_end = text.find('+');
  const std::size_t id_end = name_end == std::string_view::npos ? name_end : text.find('+', name_end + 1);
  if (id_end == std::string_view::npos || !is_name(text.substr(0, name_end))) return no_key();
  const auto key = decode_base64(text.substr(id_end + 1));
  if (!key || key->size() != 1 + kEd25519KeyBytes || key->front() != kAlgorithm) return no_key();
  NoteKey out;
  out.name_ = text.substr(0, name_end);
  out.public_ = secret ? ed25519_public(key->substr(1)) : key->substr(1);
  if (secret) out.secret_ = key->substr(1);
  if (out.id() != text.substr(name_end + 1, id_end - name_end - 1)) return no_key();
  return out;
}

std::string NoteKey::id() const { return encode_hex(id_bytes(name_, public_)); }
std::string NoteKey::verifier_key() const { return name_ + "+" + id() + "+" + encoded(public_); }
std::string NoteKey::signer_key() const {
  WEIR_CHECK(can_sign());
  return std::string(kPrivate) + name_ + "+" + id() + "+" + encoded(secret_);
}

std::string NoteKey::sign(std::string_view text) const {
  WEIR_CHECK(can_sign());
  return std::string(kDash) + name_ + " " + encode_base64(id_bytes(name_, public_) + ed25519_sign(secret_, text)) + "\n";
}

bool NoteKey::verify(std::string_view text, std::string_view signature) const { return ed25519_verify(public_, text, signature); }

Result<std::vector<NoteSignature>> parse_signatures(std::string_view lines) {
  const Error bad(ErrorCode::INVALID_FIELD, "a line of signatures has the form '\xE2\x80\x94 NAME BASE64'");
  std::vector<NoteSignature> out;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (!line.starts_with(kDash)) return bad;
    line.remove_prefix(kDash.size());
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || !is_name(line.substr(0, space))) return bad;
    const auto bytes = decode_base64(line.substr(space + 1));
    if (!bytes || bytes->size() <= kIdBytes) return bad;
    out.push_back({std::string(line.substr(0, space)), encode_hex(bytes->substr(0, kIdBytes)), bytes->substr(kIdBytes)});
  }
  return out;
}

}  // namespace weir
