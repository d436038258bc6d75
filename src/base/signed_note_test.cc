#include "base/signed_note.h"

#include <gtest/gtest.h>

#include "base/ed25519.h"
#include "base/hex.h"
#include "testing/results.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

std::string bytes(std::string_view hex) {
  std::string out(hex.size() / 2, '\0');
  EXPECT_TRUE(decode_hex(hex, reinterpret_cast<unsigned char*>(out.data())));
  return out;
}

TEST(Ed25519Test, SignaturesAreThoseOfTheRfc) {
  // RFC 8032, 7.1, TEST 2.
  const std::string secret = bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  const std::string public_key = bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const std::string signature = bytes(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_EQ(ed25519_public(secret), public_key);
  EXPECT_EQ(ed25519_sign(secret, "r"), signature);
  EXPECT_TRUE(ed25519_verify(public_key, "r", signature));
  EXPECT_FALSE(ed25519_verify(public_key, "s", signature));
  EXPECT_FALSE(ed25519_verify(public_key, "r", signature.substr(1)));
  EXPECT_FALSE(ed25519_verify("short", "r", signature));
}

// The keys and the note of the documentation of golang.org/x/mod/sumdb/note.
constexpr char kVerifier[] = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
constexpr char kSigner[] = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
constexpr char kText[] = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
constexpr char kSignature[] =
    "\xE2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

TEST(SignedNoteTest, KeysAndSignaturesAreThoseOfGo) {
  const NoteKey signer = must(NoteKey::parse(kSigner));
  EXPECT_EQ(signer.verifier_key(), kVerifier);
  EXPECT_EQ(signer.signer_key(), kSigner);
  EXPECT_EQ(signer.id(), "c74f20a3");
  EXPECT_EQ(signer.sign(kText), kSignature);
  const NoteKey verifier = must(NoteKey::parse(std::string(kVerifier) + "\n"));
  EXPECT_FALSE(verifier.can_sign());
  const auto signatures = must(parse_signatures(std::string(kSignature) + kSignature));
  ASSERT_EQ(signatures.size(), 2);
  EXPECT_EQ(signatures[1].name, "PeterNeumann");
  EXPECT_EQ(signatures[1].key_id, "c74f20a3");
  EXPECT_TRUE(verifier.verify(kText, signatures[1].bytes));
  EXPECT_FALSE(verifier.verify(std::string(kText) + "x", signatures[1].bytes));
}

TEST(SignedNoteTest, WhatIsNoKeyIsRefusedAndNotRepeated) {
  const std::string secret(kSigner);
  for (const std::string& text :
       {std::string(), std::string("PeterNeumann"), std::string(kVerifier).substr(0, 30), "x" + std::string(kVerifier),
        "a b" + std::string(kVerifier), secret.substr(0, secret.size() - 1), secret + "A", secret + "\n\n"}) {
    const auto key = NoteKey::parse(text);
    ASSERT_EQ(code(key), "INVALID_FIELD") << text;
    EXPECT_EQ(key.error().message().find("AYEK"), std::string::npos);
  }
}

TEST(SignedNoteTest, WhatIsNoSignatureIsRefused) {
  const std::string good(kSignature);
  for (const std::string& lines :
       {"x" + good, good + "\n", good.substr(3), std::string("\xE2\x80\x94 name\n"), std::string("\xE2\x80\x94 name AAAA\n"),
        std::string("\xE2\x80\x94 na+me AAAAAAAA\n"), std::string("\xE2\x80\x94 name !!!!!!!!\n")}) {
    EXPECT_EQ(code(parse_signatures(lines)), "INVALID_FIELD") << lines;
  }
}

}  // namespace
}  // namespace weir
