#include "http/events.h"

#include <algorithm>

#include "base/limits.h"
#include "session/address.h"

namespace weir::http {
namespace {

Error beyond_the_end(Seq last) {
  const std::string why = "is beyond the last event, " + std::to_string(last);
  return Error(ErrorCode::INVALID_FIELD, "Last-Event-ID " + why).with_fields({{"/Last-Event-ID", why}});
}

constexpr std::size_t kLivePage = 1000;  // entries of one look at what is new
constexpr Wanted kNothing{false, false, false, false, false};

// Entries of one look while catching up. Payloads may be long.
std::size_t page_size(const Wanted& wanted) { return wanted.node ? 16 : 200; }

std::optional<std::string_view> parameter(const Exchange& exchange, std::string_view name) {
  for (const auto& [key, value] : exchange.admission().query)
    if (key == name) return value;
  return std::nullopt;
}

Wanted made_for(const Wanted& a, const Wanted& b) {
  return {a.entry || b.entry, a.head || b.head, a.node || b.node, a.snapshot || b.snapshot, false};
}

}  // namespace

Events::Events(Service& service, Feed& feed, Later later) : service_(service), feed_(feed), later_(std::move(later)) {}

Events::~Events() {
  if (feed_listener_ != 0) feed_.leave(feed_listener_);
}

void Events::serve(Exchange& exchange) {
  if (auto begun = begin(exchange); !begun.ok()) exchange.answer(std::move(begun).error());
}

Result<void> Events::begin(Exchange& exchange) {
  std::string name;
  for (const auto& [key, value] : exchange.admission().match.arguments)
    if (key == "session") name = value;
  auto id = SessionId::parse(name);
  if (!id.ok()) return std::move(id).error().with_fields({{"/session", id.error().message()}});
  TRY(const Wanted wanted, parse_wanted(parameter(exchange, "types"), parameter(exchange, "payload")));
  TRY(const Seq seen, parse_last_event_id(exchange.header("last-event-id")));
  std::optional<SessionRow> session;
  TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
    TRY(session, need_session(reader, *id));
    TRY(const Seq last, reader.last_seq(session->no));
    // A session that was purged and made again: going on from there would pass over what is new.
    if (seen > last) return beyond_the_end(last);
    return {};
  }));
  auto listener = std::make_shared<Listener>();
  listener->wanted = wanted;
  listener->next = std::min<Seq>(seen, limits::kSeq) + 1;
  listener->stream = exchange.open_stream(200, {{"Content-Type", "text/event-stream"}, {"X-Accel-Buffering", "no"}});
  const ChannelPtr channel = channel_of(*session);
  bool ended = false;
  {
    const std::lock_guard lock(mutex_);
    ended = ended_;
    std::erase_if(listeners_, [](const auto& one) { return one.expired(); });
    listeners_.push_back(listener);
  }
  if (ended) {
    listener->stream->send(sse_frame("bye", std::nullopt, "{}"));
    listener->stream->end();
    return {};
  }
  catch_up(channel, listener);
  return {};
}

Events::ChannelPtr Events::channel_of(const SessionRow& session) {
  const std::lock_guard lock(mutex_);
  if (feed_listener_ == 0) {
    feed_listener_ = feed_.listen([this] {
      if (!pumping_.exchange(true)) pump_.run([this] { pump_all(); });
    });
  }
  forget_closed();
  ChannelPtr& channel = channels_[session.no.value];
  if (channel == nullptr) channel = std::make_shared<Channel>(session);
  return channel;
}

void Events::forget_closed() {
  for (auto at = channels_.begin(); at != channels_.end();) {
    // Somebody else has it: it is in use.
    if (at->second.use_count() > 1) {
      ++at;
      continue;
    }
    bool empty = false;
    {
      const std::lock_guard lock(at->second->mutex);
      std::erase_if(at->second->live, [](const ListenerPtr& one) { return !one->stream->open(); });
      empty = at->second->live.empty();
    }
    at = empty ? channels_.erase(at) : std::next(at);
  }
}

// In a worker's thread. Reads on while there is room, and is called again when there is.
void Events::catch_up(const ChannelPtr& channel, const ListenerPtr& listener) {
  while (listener->stream->open()) {
    Flow& flow = listener->stream->flow();
    if (flow.queued() > flow.limit / 4) {
      return flow.tell_room([this, channel, listener] { later_([this, channel, listener] { catch_up(channel, listener); }); });
    }
    const auto page = read_page(service_, channel->session, listener->next, page_size(listener->wanted), listener->wanted, {});
    if (!page.ok()) return listener->stream->cut();
    if (!page->happened.empty()) {
      listener->stream->send_unbounded(frames_of(page->happened, listener->next, listener->wanted));
      listener->next = page->happened.back().seq + 1;
    }
    if (page->heads && join(*channel, listener)) return;
  }
}

// What is missing of the last moments is read under the channel's lock, so nothing can come between. False: too much is missing.
bool Events::join(Channel& channel, const ListenerPtr& listener) {
  const std::lock_guard lock(channel.mutex);
  if (!pump(channel).ok()) {
    listener->stream->cut();
    return true;
  }
  if (listener->next <= channel.last) {
    if (channel.last - listener->next >= page_size(listener->wanted)) return false;
    const auto page = read_page(service_, channel.session, listener->next, channel.last - listener->next + 1, listener->wanted, {});
    if (!page.ok()) {
      listener->stream->cut();
      return true;
    }
    listener->stream->send_unbounded(frames_of(page->happened, listener->next, listener->wanted));
    listener->next = channel.last + 1;
  }
  send_heads(channel.head_ids, *listener);
  channel.live.push_back(listener);
  return true;
}

void Events::pump_all() {
  pumping_ = false;
  std::vector<ChannelPtr> channels;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [no, channel] : channels_) channels.push_back(channel);
  }
  for (const ChannelPtr& channel : channels) {
    const std::lock_guard lock(channel->mutex);
    std::erase_if(channel->live, [](const ListenerPtr& one) { return !one->stream->open(); });
    if (!channel->live.empty() && !pump(*channel).ok()) cut(*channel);
  }
}

// The channel's lock is held.
Result<void> Events::pump(Channel& channel) {
  if (!channel.begun || channel.live.empty()) {
    // Nobody has to be told what was before.
    TRY_DO(service_.log().read([&](LogReader& reader) -> Result<void> {
      TRY(channel.last, reader.last_seq(channel.session.no));
      return {};
    }));
    channel.begun = true;
  }
  Wanted made = kNothing;
  for (const ListenerPtr& listener : channel.live) made = made_for(made, listener->wanted);
  for (;;) {
    TRY(Page page, read_page(service_, channel.session, channel.last + 1, kLivePage, made, channel.heads));
    if (!page.happened.empty()) channel.last = page.happened.back().seq;
    std::map<Wanted, std::shared_ptr<const std::string>> rendered;
    for (const ListenerPtr& listener : channel.live) {
      if (page.happened.empty() || listener->next > channel.last) continue;
      if (listener->next > page.happened.front().seq) {
        listener->stream->send(frames_of(page.happened, listener->next, listener->wanted));
      } else {
        auto& frames = rendered[listener->wanted];
        if (frames == nullptr) frames = std::make_shared<std::string>(frames_of(page.happened, 0, listener->wanted));
        listener->stream->send_shared(frames);
      }
      listener->next = channel.last + 1;
    }
    if (!page.heads) continue;
    channel.heads = std::move(*page.heads);
    for (const auto& [name, id] : page.ids) channel.head_ids[name] = id;
    std::erase_if(channel.head_ids, [&](const auto& one) { return !channel.heads.contains(one.first); });
    for (const ListenerPtr& listener : channel.live) send_heads(page.ids, *listener);
    return {};
  }
}

void Events::send_heads(const std::map<std::string, std::string>& ids, Listener& listener) {
  if (!listener.wanted.head) return;
  std::string frames;
  for (const auto& [name, id] : ids) frames += sse_frame("head", std::nullopt, head_json(name, id));
  listener.stream->send(frames);
}

// They come back by id.
void Events::cut(Channel& channel) {
  for (const ListenerPtr& listener : channel.live) listener->stream->cut();
  channel.live.clear();
}

void Events::end() {
  std::vector<ListenerPtr> all;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (const auto& weak : listeners_)
      if (auto listener = weak.lock()) all.push_back(std::move(listener));
  }
  for (const ListenerPtr& listener : all) {
    listener->stream->send(sse_frame("bye", std::nullopt, "{}"));
    listener->stream->end();
  }
}

}  // namespace weir::http
