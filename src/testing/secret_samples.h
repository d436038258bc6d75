// Made-up secrets of every family. They are put together when the test runs, so that no file of the repository holds
// anything that looks like one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::testing {

struct SecretSample {
  std::string family;
  std::string before, secret, after;  // only `secret` is masked
  bool shortest = true;               // with one character less it is no secret
  std::string text() const { return before + secret + after; }
  // With this directly before it and, if asked, behind it, as far as it is one without the rest.
  std::string glued(const std::string& end, bool behind) const {
    const bool alone = before.starts_with("see") || before == "t.me ", closed = family == "url_password";
    return "x" + end + (alone ? "" : before) + secret + (closed ? after : "") + (behind ? end + "x" : "");
  }
};

// `count` characters of the alphabet, a letter and a digit among them wherever it has both.
inline std::string filler(std::size_t count, std::string_view alphabet) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += alphabet[(i * 7 + 3) % alphabet.size()];
  return out;
}
inline std::string alnum(std::size_t count) { return filler(count, "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ"); }
inline std::string upper(std::size_t count) { return filler(count, "A2B3C4D5E6F7G8H9JKLMN"); }
inline std::string hex_digits(std::size_t count) { return filler(count, "0a1b2c3d4e5f6789"); }

inline std::vector<SecretSample> secret_samples() {
  std::vector<SecretSample> samples;
  const auto add = [&](std::string_view family, std::string_view before, const std::string& secret, std::string_view after,
                       bool shortest = true) {
    samples.push_back({std::string(family), std::string(before), secret, std::string(after), shortest});
  };
  // Families told by the beginning of the secret itself.
  struct Prefixed {
    std::string_view family;
    std::vector<std::string_view> prefixes;
    std::string rest;
  };
  const Prefixed prefixed[] = {
      {"openai_key", {"sk-"}, alnum(20)},
      {"openai_scoped", {"sk-proj-", "sk-svcacct-", "sk-admin-"}, "_-" + alnum(18)},
      {"anthropic_key", {"sk-ant-"}, "api03-" + alnum(14)},
      {"openrouter_key", {"sk-or-v1-"}, alnum(20)},
      {"xai_groq_key", {"xai-", "gsk_"}, alnum(32)},
      {"github_token", {"gho_", "ghp_", "ghs_", "ghu_", "ghr_"}, alnum(36)},
      {"github_pat", {"github_pat_"}, "_" + alnum(21)},
      {"gitlab_token", {"glpat-", "glptt-", "glrt-", "glsoat-"}, "_-" + alnum(18)},
      {"slack_token", {"xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"}, "1-" + alnum(8)},
      {"slack_webhook", {"https://hooks.slack.com/services/", "https://hooks.slack.com/workflows/"}, "T1/B2/" + alnum(14)},
      {"aws_access_id", {"AKIA", "ASIA", "ABIA", "ACCA"}, upper(16)},
      {"google_api_key", {"AIza"}, "-_" + alnum(33)},
      {"google_oauth", {"ya29.", "GOCSPX-"}, "-_" + alnum(18)},
      {"stripe_key", {"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"}, alnum(16)},
      {"npm_token", {"npm_"}, alnum(36)},
      {"pypi_token", {"pypi-"}, "-_" + alnum(30)},
      {"huggingface", {"hf_"}, alnum(30)},
      {"sendgrid_key", {"SG."}, "-" + alnum(15) + "." + alnum(15) + "_"},
      {"twilio_key", {"SK"}, hex_digits(32)},
      {"telegram_bot", {"12345678:AA"}, "-_" + alnum(31)},
      {"digitalocean", {"doo_v1_", "dop_v1_", "dor_v1_"}, hex_digits(64)},
      {"age_key", {"AGE-SECRET-KEY-1"}, upper(58)},
      {"jwt", {"eyJ"}, alnum(8) + ".eyJ" + alnum(8) + "." + alnum(8)},
  };
  for (const auto& [family, prefixes, rest] : prefixed) {
    for (const std::string_view prefix : prefixes) add(family, "see (", std::string(prefix) + rest, ") there");
  }
  const std::string dashes = "-----", key = "PRIVATE KEY";
  for (const std::string& kind : {key, "RSA " + key, "EC " + key, "OPENSSH " + key, "PGP " + key + " BLOCK"}) {
    add("pem_private", "key:\n", dashes + "BEGIN " + kind + dashes + "\n" + alnum(64) + "\n" + dashes + "END " + kind + dashes, "\nafter",
        false);
  }
  add("pem_private", "cut: ", dashes + "BEGIN " + key + dashes + "\n" + alnum(64) + "\n", "", false);
  // Families told by what stands before it.
  add("aws_secret", "aws_secret_access_key = ", alnum(38) + "/+", "\n");
  add("aws_secret", "\"AwsSecretAccessKey\": \"", alnum(40), "\"");
  add("azure_storage", "x;AccountKey=", alnum(40) + "+/==", ";y", false);
  add("azure_storage", "sharedaccesskey=", alnum(40), "");
  add("bearer", "BEARER  ", alnum(16), " x");
  add("bearer", "bearer ", "._~+/=-" + alnum(9), "");
  add("auth_header", "Authorization: Basic ", alnum(12), "\r\n");
  add("auth_header", "{\\\"authorization\\\":\\\"token ", alnum(12), "\\\"}");
  add("auth_header", "AUTHORIZATION='", alnum(12), "'");
  const std::string cookie = "Cookie";
  add("cookie", cookie + ":", "a=" + alnum(6), "\r\nx");
  add("cookie", "Set-" + cookie + ": ", "sid=" + alnum(9) + "; Path=/", "\n", false);
  add("url_password", "postgres://bob:", "pw!", "@db/x");
  add("url_password", "git+https://:", alnum(9), "@example.org", false);
  for (const std::string_view name : {"api_key", "API-KEY", "apikey", "auth_token", "authToken", "access-token", "refresh_token",
                                      "client_secret", "secret_key", "secretKey", "password", "passwd", "pwd"}) {
    add("key_value", std::string(name) + "=", alnum(8), "");
  }
  add("key_value", "{\\\"api_key\\\":\\\"", alnum(20), "\\\"}", false);
  add("key_value", "'password' : '", "hunter2!" + alnum(4), "', next", false);
  add("telegram_bot", "t.me ", "1234567890:AA" + alnum(33), "", false);
  return samples;
}

// The text as it stands in a JSON string, so many strings deep: a newline becomes \n, \\n, \\\\n, or \u000a and so on.
inline std::string json_quoted(std::string text, int depth, bool by_number = false) {
  for (; depth > 0; --depth, by_number = false) {
    std::string quoted;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        quoted.append(1, '\\').append(1, c);
      } else if (byte >= 0x20) {
        quoted += c;
      } else if (const std::size_t at = std::string_view("\b\f\n\r\t").find(c); at != std::string_view::npos && !by_number) {
        quoted.append(1, '\\').append(1, "bfnrt"[at]);
      } else {
        quoted.append("\\u00").append(1, "01"[byte / 16]).append(1, "0123456789abcdef"[byte % 16]);
      }
    }
    text = std::move(quoted);
  }
  return text;
}

// What may stand directly before or after a secret and must not hide it.
inline std::vector<std::string> word_ends() {
  const std::string esc = "\x1b";
  return {"\n",         "\t",        "\r\n",    "\f",        esc + "[32m", esc + "[1;31m", esc + "[K",   esc + "[m",     esc + "(B",
          "%0A",        "%250a",     "%25250A", "%1B%5B32m", "\\x1b[0m",   "\\x0a",        "\\033[32m",  "\\e[1m",       "\\u001b[32m",
          "\\u001B[0m", "\\012",     "^[[33m",  "[0;32m",    "_",          "\\U0000000a",  esc + "[2 q", esc + "[>4;2m", esc + "[1\'z",
          "\\x9b32m",   "%C2%9B32m", "%5Cn",    "%5Cu000a",  "%255Cn",     "=0A",          "^M",         "%u000a"};
}

}  // namespace weir::testing
