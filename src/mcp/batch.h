// The answers of a batch, which leave as one list.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/stream.h"
#include "mcp/channel.h"

namespace weir::mcp {

struct BatchReceipt final : Receipt {
  std::vector<ReceiptPtr> all;
  void received() override {
    for (const ReceiptPtr& one : all) one->received();
  }
  void lost() override {
    for (const ReceiptPtr& one : all) one->lost();
  }
};

// The answers of a batch, sent as one list when the last is there.
class BatchChannel final : public Channel {
 public:
  BatchChannel(std::shared_ptr<Channel> whole, std::size_t answers) : whole_(std::move(whole)), left_(answers) {}
  void tell(std::string_view message) override { whole_->tell(message); }
  bool hears() const override { return whole_->hears(); }
  bool gone() const override { return whole_->gone(); }
  bool commit() override { return whole_->commit(); }
  using Channel::finish;
  void finish(std::string_view message, int, ReceiptPtr receipt) override {
    const std::lock_guard lock(mutex_);
    text_ += (text_.empty() ? "[" : ",") + std::string(message);
    if (receipt) receipt_->all.push_back(std::move(receipt));
    one_less();
  }
  void skip() override {
    const std::lock_guard lock(mutex_);
    one_less();
  }

 private:
  void one_less() {
    if (--left_ != 0) return;
    if (text_.empty()) return whole_->skip();
    whole_->finish(text_ + "]", 200, receipt_->all.empty() ? nullptr : receipt_);
  }

  const std::shared_ptr<Channel> whole_;
  std::mutex mutex_;
  std::size_t left_;
  std::string text_;
  const std::shared_ptr<BatchReceipt> receipt_ = std::make_shared<BatchReceipt>();
};

// The answer of one message of a batch, which may be kept before it joins the others.
class PartChannel final : public Channel {
 public:
  PartChannel(std::shared_ptr<Channel> whole, std::shared_ptr<api::Exchange> exchange, std::size_t place)
      : whole_(std::move(whole)), exchange_(std::move(exchange)), place_(place) {}
  void tell(std::string_view message) override { whole_->tell(message); }
  bool hears() const override { return whole_->hears(); }
  bool gone() const override { return whole_->gone(); }
  bool commit() override { return whole_->commit(); }
  void finish(std::string_view message, int http, ReceiptPtr receipt) override {
    exchange_->keep_part(place_, message);
    whole_->finish(message, http, std::move(receipt));
  }
  void skip() override {
    exchange_->keep_part(place_, "");
    whole_->skip();
  }

 private:
  const std::shared_ptr<Channel> whole_;
  const std::shared_ptr<api::Exchange> exchange_;
  const std::size_t place_;
};

}  // namespace weir::mcp
