#include "research/url.h"

#include <algorithm>
#include <list>
#include <utility>

#include "ada.h"
#include "base/secrets.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "research/t_order.h"
#include "research/url_query.h"

namespace weir::research {
namespace {

bool is_ascii(std::string_view text) {
  unsigned char any = 0;
  for (const char c : text) any |= static_cast<unsigned char>(c);
  return any < 0x80;
}

// Shows neither the query nor what stands before an `@`: of a URL that cannot be parsed nobody knows which part is a secret.
Error not_a_url(std::string_view url) {
  std::string_view harmless = url.substr(0, url.find_first_of("?#"));
  if (const std::size_t user = harmless.rfind('@'); user != std::string_view::npos) harmless.remove_prefix(user + 1);
  return Error(ErrorCode::INVALID_URL, "not an absolute http or https URL: '" + masked_excerpt(harmless, 120) + "'");
}

bool begins_in_any_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char wanted, char c) {
           return c == wanted || (c >= 'A' && c <= 'Z' && c + 32 == wanted);
         });
}

// Keys that say how a reader came, not what is read.
bool tracks(std::string_view key) {
  return begins_in_any_case(key, "utm_") || (key.size() == 5 && begins_in_any_case(key, "gclid")) ||
         (key.size() == 6 && begins_in_any_case(key, "fbclid"));
}

// Calls take(raw key, raw value, whether there is an `=`) for each pair; empty ones are none.
template <typename Take>
void each_pair(std::string_view query, Take&& take) {
  for (std::size_t begin = 0; begin <= query.size();) {
    const std::size_t end = std::min(query.find('&', begin), query.size());
    const std::string_view pair = query.substr(begin, end - begin);
    const std::size_t equals = pair.find('=');
    const bool has_value = equals != std::string_view::npos;
    if (!pair.empty()) take(pair.substr(0, equals), has_value ? pair.substr(equals + 1) : std::string_view(), has_value);
    begin = end + 1;
  }
}

// The pairs of a query that count, decoded.
class Pairs {
 public:
  explicit Pairs(std::string_view query) : query_(query) {
    list_.reserve(8);
    each_pair(query, [&](std::string_view raw_key, std::string_view raw_value, bool has_value) {
      const std::string_view key = decoded(raw_key);
      const bool secret = last_secret_part(raw_key) != std::string_view::npos;
      secret_ = secret_ || secret;
      as_it_stands_ = as_it_stands_ && has_value && !secret && !tracks(key);
      if (!tracks(key)) list_.push_back({key, secret ? kRedactedValue : decoded(raw_value)});
    });
    const bool sorted = std::is_sorted(list_.begin(), list_.end());
    if (!sorted) std::sort(list_.begin(), list_.end());
    // Empty pairs leave a separator too many.
    as_it_stands_ = as_it_stands_ && sorted && static_cast<std::size_t>(std::count(query.begin(), query.end(), '&')) + 1 == list_.size();
  }

  bool secret() const { return secret_; }  // is any of them?

  // In normal form, with its `?`; nothing if there are no pairs.
  void append_to(std::string& out) const {
    if (as_it_stands_) {
      out.append(1, '?').append(query_);
      return;
    }
    char before = '?';
    for (const Pair& pair : list_) {
      out += std::exchange(before, '&');
      append_form_encoded(out, pair.key);
      out += '=';
      append_form_encoded(out, pair.value);
    }
  }

 private:
  struct Pair {
    std::string_view key, value;
    bool operator<(const Pair& other) const {
      const int by_key = compare_t(key, other.key);
      return by_key != 0 ? by_key < 0 : compare_t(value, other.value) < 0;
    }
  };

  std::string_view decoded(std::string_view raw) {
    if (is_form_plain(raw)) return raw;
    as_it_stands_ = false;
    return decoded_.emplace_back(form_decoded(raw));
  }

  std::string_view query_;
  std::vector<Pair> list_;
  std::list<std::string> decoded_;  // what had to be; its strings stay where they are
  bool secret_ = false;
  bool as_it_stands_ = true;  // the query is its own normal form
};

std::string masked_query(std::string_view query) {
  std::string out;
  std::size_t copied = 0;
  each_pair(query, [&](std::string_view key, std::string_view value, bool has_value) {
    if (!has_value || value.empty() || last_secret_part(key) == std::string_view::npos) return;
    const auto at = static_cast<std::size_t>(value.data() - query.data());
    out.append(query.substr(copied, at - copied)).append(kRedactedValue);
    copied = at + value.size();
  });
  return out.append(query.substr(copied));
}

// A URL as the standard writes it, in parts.
struct Parts {
  std::string_view scheme;     // `https://`
  std::string_view authority;  // host and port
  std::string_view path;
  std::string_view query;  // without `?`
  std::string_view fragment;
  std::string_view rest;  // everything behind the user info
  bool user_info;
};

Parts parts_of(const ada::url_aggregator& url) {
  const std::string_view href = url.get_href();
  const ada::url_components& at = url.get_components();
  const std::size_t hash = std::min<std::size_t>(at.hash_start, href.size());
  const std::size_t search = std::min<std::size_t>(at.search_start, hash);
  const std::size_t host = at.host_start < href.size() && href[at.host_start] == '@' ? at.host_start + 1 : at.host_start;
  const std::size_t query = std::min(search + 1, hash);
  return {.scheme = href.substr(0, at.protocol_end + 2),
          .authority = href.substr(host, at.pathname_start - host),
          .path = href.substr(at.pathname_start, search - at.pathname_start),
          .query = href.substr(query, hash - query),
          .fragment = href.substr(hash),
          .rest = href.substr(host),
          .user_info = url.has_credentials()};
}

std::string joined(std::initializer_list<std::string_view> pieces, std::size_t room = 0) {
  std::size_t size = room;
  for (const std::string_view piece : pieces) size += piece.size();
  std::string out;
  out.reserve(size);
  for (const std::string_view piece : pieces) out += piece;
  return out;
}

}  // namespace

Result<CitedUrl> normalise_url(std::string_view url) {
  // Encoded, it must still fit into an entry.
  constexpr std::size_t kMostUrl = 16384;
  if (url.size() > kMostUrl || (!is_ascii(url) && !valid_utf8(url))) return not_a_url(url);
  const auto parsed = ada::parse<ada::url_aggregator>(url);
  if (!parsed || (parsed->type != ada::scheme::HTTP && parsed->type != ada::scheme::HTTPS)) return not_a_url(url);
  const Parts parts = parts_of(*parsed);
  std::string_view path = parts.path;
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  CitedUrl out;
  out.user_info = parts.user_info;
  out.normal = joined({parts.scheme, parts.authority, path}, parts.query.size() + 1);
  bool secret = false;
  if (!parts.query.empty()) {
    const Pairs pairs(parts.query);
    pairs.append_to(out.normal);
    secret = pairs.secret();
  }
  if (secret) {
    out.shown = joined({parts.scheme, parts.authority, parts.path, "?", masked_query(parts.query), parts.fragment});
  } else {
    out.shown = joined({parts.scheme, parts.rest});
  }
  out.cid = cid_of(out.normal);
  return out;
}

std::string cid_of(std::string_view normal) { return "cid_" + sha256(normal).hex(); }

}  // namespace weir::research
