#include "service/still_wanted.h"

namespace weir {
namespace {

thread_local const StillWanted* innermost = nullptr;

}  // namespace

StillWanted::StillWanted(std::function<bool()> wanted) : wanted_(std::move(wanted)), outer_(innermost) { innermost = this; }
StillWanted::~StillWanted() { innermost = outer_; }
const StillWanted* StillWanted::of_this_thread() { return innermost; }

StillWanted::Borrowed::Borrowed(const StillWanted* wanted) : own_(innermost) { innermost = wanted; }
StillWanted::Borrowed::~Borrowed() { innermost = own_; }

}  // namespace weir
