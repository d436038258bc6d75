#include "mcp/stdio.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <span>
#include <thread>

#include "base/limits.h"
#include "base/unread.h"
#include "json/canonical.h"
#include "service/answers_in_flight.h"

namespace weir::mcp {
namespace {

constexpr std::size_t kLineBytes = 10 * limits::kMiB;
constexpr std::size_t kReadBytes = 64 * limits::kKiB;
constexpr int kAskEveryMs = 500;                          // whether to stop
constexpr int kMostTurns = 64;                            // of reading what is there, before it is looked at
constexpr std::size_t kMostUnderWay = 64 * limits::kMiB;  // bytes of requests that are being answered

// Has the other side of a pipe closed it? What it sent may still be there.
bool is_closed(int descriptor) {
  pollfd looked{.fd = descriptor, .events = 0, .revents = 0};
  return ::poll(&looked, 1, 0) > 0 && (looked.revents & (POLLHUP | POLLERR)) != 0;
}

// The one writer of the output: whole lines, from any thread. A reader that is slow is waited for, but not when it is time to
// stop.
class Output {
 public:
  // `ending`: is it time to stop? Asked from any thread; the one that reads may be waiting here itself.
  Output(int descriptor, std::function<bool()> ending)
      : descriptor_(descriptor), flags_(::fcntl(descriptor, F_GETFL)), ending_(std::move(ending)) {
    // A pipe that nobody reads must not hold us: it is asked whether it takes anything, and written to without waiting.
    struct stat st{};
    const bool pipe = ::fstat(descriptor_, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
    if (pipe && flags_ >= 0) ::fcntl(descriptor_, F_SETFL, flags_ | O_NONBLOCK);
  }
  ~Output() {
    if (flags_ >= 0) ::fcntl(descriptor_, F_SETFL, flags_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool line(std::string_view text) {
    const std::lock_guard lock(mutex_);
    return write(text);
  }
  // The same for an answer that proves something. The client has it when it has read it out of the pipe, unless it took the request
  // back before it did: it tells us so, and what it told by then is in our input by then.
  bool answer(std::string_view text, ReceiptPtr receipt) {
    const std::lock_guard lock(mutex_);
    if (!write(text)) return false;
    const std::lock_guard answers_lock(answers_mutex_);
    answers_.add(std::move(receipt));
    return true;
  }
  // Up to which answer it has read them; 0 if there is none, or some of the output is unread or still being written.
  std::uint64_t read_until() {
    // Who has just written the last byte of an answer may not have told of it yet, and the client is quicker. With nothing unread in
    // the pipe that thread waits for nobody, so it is waited for; on a busy machine it may be a while before it runs again.
    for (const auto deadline = std::chrono::steady_clock::now() + kTelling; !mutex_.try_lock(); std::this_thread::yield())
      if (unread_bytes(descriptor_) != 0 || std::chrono::steady_clock::now() > deadline) return 0;
    mutex_.unlock();
    const std::lock_guard lock(answers_mutex_);
    return !answers_.empty() && !broken_ && unread_bytes(descriptor_) == 0 ? answers_.last() : 0;
  }
  void receive_until(std::uint64_t number) {
    const std::lock_guard lock(answers_mutex_);
    answers_.receive_until(number);
  }
  // The client has left.
  void settle() {
    const std::lock_guard lock(answers_mutex_);
    if (!answers_.empty() && !broken_ && wait_until_read(descriptor_, kAskEveryMs)) answers_.receive_all();
  }
  // Where one socket is input and output, its end is told once, to whoever reads it first: the client has left something unread.
  void reset() { broken_ = true; }
  // From now on nobody is waited for long.
  void close() { closing_ = true; }

  // What is under way, in bytes of requests.
  void begin(std::size_t bytes) {
    const std::lock_guard lock(under_way_mutex_);
    ++under_way_;
    bytes_ += bytes;
  }
  void end(std::size_t bytes) {
    {
      const std::lock_guard lock(under_way_mutex_);
      --under_way_;
      bytes_ -= bytes;
    }
    done_.notify_all();
  }
  void wait_for_all() {
    std::unique_lock lock(under_way_mutex_);
    done_.wait(lock, [this] { return under_way_ == 0; });
  }
  void wait_a_moment() {
    std::unique_lock lock(under_way_mutex_);
    done_.wait_for(lock, kMoment, [this] { return under_way_ == 0; });
  }
  // Returns soon, whether there is room or not; true: there is.
  bool wait_for_room() {
    std::unique_lock lock(under_way_mutex_);
    return done_.wait_for(lock, std::chrono::milliseconds(kAskEveryMs), [this] { return bytes_ < kMostUnderWay; });
  }

 private:
  static constexpr auto kPatience = std::chrono::seconds(5), kMoment = std::chrono::seconds(1);
  static constexpr auto kTelling = std::chrono::seconds(1);

  // Under mutex_.
  bool write(std::string_view text) {
    if (broken_) return false;
    buffer_.assign(text);
    buffer_ += '\n';
    std::string_view rest = buffer_;
    auto moved = std::chrono::steady_clock::now();
    while (!rest.empty()) {
      const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
      if (written > 0) {
        rest.remove_prefix(static_cast<std::size_t>(written));
        moved = std::chrono::steady_clock::now();
        continue;
      }
      const bool waits = written < 0 && (errno == EINTR || errno == EAGAIN);
      if (!waits || (std::chrono::steady_clock::now() - moved > kPatience && (closing_ || ending_()))) {
        broken_ = true;
        return false;
      }
      pollfd waiting{.fd = descriptor_, .events = POLLOUT, .revents = 0};
      ::poll(&waiting, 1, kAskEveryMs);
    }
    if (buffer_.capacity() > limits::kMiB) buffer_ = {};
    return true;
  }

  const int descriptor_, flags_;
  const std::function<bool()> ending_;
  std::mutex mutex_;
  std::string buffer_;
  std::atomic<bool> broken_ = false;
  std::atomic<bool> closing_ = false;
  std::mutex under_way_mutex_;
  std::condition_variable done_;
  std::size_t under_way_ = 0, bytes_ = 0;
  std::mutex answers_mutex_;
  AnswersInFlight answers_;
};

// Lives as long as its message is being answered.
class LineChannel final : public Channel {
 public:
  LineChannel(std::shared_ptr<Output> output, std::size_t bytes) : output_(std::move(output)), bytes_(bytes + kOverhead) {
    output_->begin(bytes_);
  }
  ~LineChannel() override { rest(); }
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;
  void tell(std::string_view message) override { output_->line(message); }
  bool hears() const override { return true; }
  using Channel::finish;
  void finish(std::string_view message, int, ReceiptPtr receipt) override {
    if (message.empty()) return;
    if (!receipt) {
      output_->line(message);
    } else if (!output_->answer(message, receipt)) {
      receipt->lost();
    }
  }
  void rest() override {
    if (!resting_.exchange(true)) output_->end(bytes_);
  }

 private:
  static constexpr std::size_t kOverhead = 16 * limits::kKiB;  // what a request costs besides its text

  const std::shared_ptr<Output> output_;
  const std::size_t bytes_;
  std::atomic<bool> resting_ = false;
};

class Lines {
 public:
  Lines(Core& core, int in, int out, const std::function<bool()>& stop)
      : core_(core), in_(in), stop_(stop), output_(std::make_shared<Output>(out, [in, stop] { return stop() || is_closed(in); })) {
    peer_ = std::make_shared<Peer>([output = output_](std::string_view message) { return output->line(message); });
  }

  Result<void> run() {
    std::string buffer, chunk(kReadBytes, '\0');
    bool stopped = false, ended = false;
    while (!ended) {
      const bool room = output_->wait_for_room();
      pollfd waiting{.fd = in_, .events = POLLIN, .revents = 0};
      const int ready = room ? ::poll(&waiting, 1, kAskEveryMs) : 0;
      stopped = stop_();
      if (stopped) break;
      if (ready <= 0) continue;
      const ssize_t got = ::read(in_, chunk.data(), chunk.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) output_->reset();
      if (got <= 0) break;
      const std::size_t have = buffer.size();
      // First whether it has read its answers, then all that it has sent: see Output::answer.
      std::uint64_t read_until = output_->read_until();
      buffer.append(chunk, 0, static_cast<std::size_t>(got));
      if (read_until != 0 && !take_all(buffer, chunk, ended)) read_until = 0;
      // Cancellations come first. Without one, what is asked next may count on what was answered.
      const bool cancels = buffer.find("notifications/cancelled", have) != std::string::npos;
      if (!cancels) output_->receive_until(read_until);
      take_lines(buffer, have);
      if (cancels) output_->receive_until(read_until);
    }
    // What is asked for in a line without an end was not asked for.
    output_->close();
    // Who closes the input may still wait for answers that are nearly there.
    if (!stopped) output_->wait_a_moment();
    if (!stopped) peer_->cancel_all();
    core_.shut_down();
    core_.forget(*peer_);
    output_->wait_for_all();
    output_->settle();
    return {};
  }

 private:
  // Everything that is there already; false if that is too much. `ended`: the input has.
  bool take_all(std::string& buffer, std::string& chunk, bool& ended) {
    for (int turns = 0; turns < kMostTurns; ++turns) {
      pollfd waiting{.fd = in_, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 0) <= 0 || (waiting.revents & POLLIN) == 0) return true;
      const ssize_t got = ::read(in_, chunk.data(), chunk.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
      ended = got <= 0;
      if (got < 0) output_->reset();
      if (ended) return got == 0;
      buffer.append(chunk, 0, static_cast<std::size_t>(got));
    }
    return false;
  }

  // Every whole line; the rest stays. What came before `from` holds no line feed.
  void take_lines(std::string& buffer, std::size_t from) {
    std::size_t begin = 0;
    for (std::size_t feed = buffer.find('\n', from); feed != std::string::npos; feed = buffer.find('\n', begin)) {
      if (discarding_) {
        discarding_ = false;
      } else {
        take_line(std::string_view(buffer).substr(begin, feed - begin));
      }
      begin = feed + 1;
    }
    buffer.erase(0, begin);
    if (buffer.size() <= kLineBytes && !discarding_) return;
    // Nothing of a line that is too long is kept; it is answered once.
    if (!discarding_) answer({.code = code::kRequest, .message = "a line has at most 10 MiB"});
    discarding_ = true;
    buffer.clear();
    buffer.shrink_to_fit();
  }

  void take_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) return;
    if (line.size() > kLineBytes) return answer({.code = code::kRequest, .message = "a line has at most 10 MiB"});
    const auto parser = core_.parser();
    const auto message = parser->parse(line, {.one_line = true});
    if (!message.ok()) return answer({.code = code::kParse, .message = message.error().message()});
    Arrival arrival;
    arrival.peer = peer_;
    arrival.channel = std::make_shared<LineChannel>(output_, line.size());
    core_.take(parser, *message, arrival);
  }

  void answer(const Fault& fault) { output_->line(Core::fault_message("null", fault)); }

  Core& core_;
  const int in_;
  const std::function<bool()> stop_;
  const std::shared_ptr<Output> output_;
  std::shared_ptr<Peer> peer_;
  bool discarding_ = false;
};

}  // namespace

Result<void> serve_lines(Core& core, int in, int out, const std::function<bool()>& stop) { return Lines(core, in, out, stop).run(); }

}  // namespace weir::mcp
