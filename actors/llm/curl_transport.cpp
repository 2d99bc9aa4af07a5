// SPDX-License-Identifier: Apache-2.0
#include "actors/llm/curl_transport.hpp"

#include "actors/llm/head_reader.hpp"
#include "actors/llm/heap_holes.hpp"
#include "actors/llm/order_box.hpp"
#include "messages/limits.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace regatta {

namespace {

/// The loop wakes by itself only for libcurl's own timers; this bounds a lost wake-up.
constexpr int poll_ms = 1'000;
/// While a paused exchange waits for its reader.
constexpr int paused_poll_ms = 20;
/// Bytes handed out and not yet read at which an exchange pauses.
constexpr std::size_t unread_limit = 1 * MiB;
/// All of one answer. An event of some 300 bytes per token makes 40 MiB of 128k tokens; six times that. Judgement.
constexpr std::size_t total_limit = 256 * MiB;
constexpr const char* user_agent = "regatta";

void init_curl_once() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_ALL);
  static_cast<void>(done);
}

/// Signals belong to the main thread.
void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

using counter = std::atomic<std::size_t>;

exchange_end kind_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return exchange_end::complete;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:  // The only limit that libcurl has of us is the connect's.
    case CURLE_SSL_CONNECT_ERROR:
      return exchange_end::connect_failed;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
      return exchange_end::refused_by_tls;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return exchange_end::misconfigured;
    case CURLE_WRITE_ERROR:  // Ours: on_body has had enough.
      return exchange_end::too_large;
    default:
      return exchange_end::cut;
  }
}

class curl_exchange {
public:
  /// `touched` collects the exchanges that have something to hand out.
  curl_exchange(exchange_id id, http_request request, std::vector<exchange_id>& touched)
      : id_{id}, request_{std::move(request)}, touched_{touched}, easy_{curl_easy_init()} {
    set_target();
    set_manners();
  }
  curl_exchange(const curl_exchange&) = delete;
  curl_exchange& operator=(const curl_exchange&) = delete;
  ~curl_exchange() {
    curl_easy_cleanup(easy_);
    curl_slist_free_all(header_lines_);
  }

  static curl_exchange& of(CURL* easy) {
    curl_exchange* out = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &out);
    return *out;
  }

  CURL* handle() const { return easy_; }
  exchange_id id() const { return id_; }
  bool is_paused() const { return is_paused_; }

  void hand_out(const exchange_sink& sink) {
    if (head_.is_whole() && !std::exchange(is_head_told_, true)) {
      drop_sent_body();
      sink(exchange_head{id_, head_.status(), head_.take_headers()});
    }
    if (pending_.empty()) {
      return;
    }
    const auto size = pending_.size();
    *unread_ += size;
    const auto give_back = [unread = unread_, size](const void*) { *unread -= size; };
    sink(exchange_body{id_, std::exchange(pending_, {}), std::shared_ptr<const void>{this, give_back}});
  }

  /// Streams of one HTTP/2 connection have the same; 0 before it is connected.
  long local_port() const {
    long port = 0;
    curl_easy_getinfo(easy_, CURLINFO_LOCAL_PORT, &port);
    return std::max(port, 0L);
  }
  void close_connection_with_it() { curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L); }
  /// Makes libcurl send what waits on this exchange's connection.
  void flush_connection() {
    curl_easy_pause(easy_, CURLPAUSE_RECV);
    curl_easy_pause(easy_, CURLPAUSE_CONT);
  }

  void resume_if_read() {
    if (is_paused_ && *unread_ < unread_limit / 2) {
      is_paused_ = false;
      curl_easy_pause(easy_, CURLPAUSE_CONT);
    }
  }

  /// A server may close a kept connection just as we write to it (uvicorn: after 5.0 s). Nothing was read of the
  /// request then, so it is asked again once, on a new connection.
  bool deserves_fresh_connection(CURLcode code) const {
    static constexpr std::array resets{CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2,
                                       CURLE_HTTP2_STREAM};
    long new_connections = 1;
    curl_easy_getinfo(easy_, CURLINFO_NUM_CONNECTS, &new_connections);
    return !is_second_start_ && head_.status() == 0 && new_connections == 0 &&
           std::find(resets.begin(), resets.end(), code) != resets.end();
  }

  void start_afresh() {
    is_second_start_ = true;
    curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
  }

  exchange_ended ended(CURLcode code) const {
    const auto how = kind_of(code);
    const std::string text = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
    return {id_, how, how == exchange_end::complete ? std::string{} : text};
  }

private:
  /// A prompt is as large as all else that a stream needs: dropped once it is wholly sent and answered.
  void drop_sent_body() {
    curl_off_t sent = 0;
    curl_easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (const auto size = request_.body.size(); sent == static_cast<curl_off_t>(size)) {
      std::string{}.swap(request_.body);
      trim_holes_after(size);
    }
  }

  void set_target() {
    for (const auto& [name, value] : request_.headers) {
      header_lines_ = curl_slist_append(header_lines_, (name + ": " + value).c_str());
    }
    // Else libcurl waits a second for "100 Continue" before it sends a long prompt.
    header_lines_ = curl_slist_append(header_lines_, "Expect:");
    curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str());
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_lines_);
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.body.c_str());
    if (!request_.proxy.empty()) {
      curl_easy_setopt(easy_, CURLOPT_PROXY, request_.proxy.c_str());
    }
    if (!request_.ca_file.empty()) {
      curl_easy_setopt(easy_, CURLOPT_CAINFO, request_.ca_file.c_str());
    }
  }

  void set_manners() {
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    // A cancelled exchange must not wait for its name lookup's thread.
    curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    // Over TLS: wait to see whether a connection under way takes more streams before opening another.
    curl_easy_setopt(easy_, CURLOPT_PIPEWAIT, request_.url.starts_with("https:") ? 1L : 0L);
    curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy_, CURLOPT_USERAGENT, user_agent);
    // Events are small; libcurl's default is 16 KiB a stream.
    curl_easy_setopt(easy_, CURLOPT_BUFFERSIZE, 4096L);
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_.data());
    curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &curl_exchange::on_header);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &curl_exchange::on_body);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  }

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
    auto& self = *static_cast<curl_exchange*>(user);
    if (self.head_.take({data, size})) {
      self.touched_.push_back(self.id_);
    }
    return size;
  }

  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
    auto& self = *static_cast<curl_exchange*>(user);
    if (*self.unread_ > unread_limit) {
      self.is_paused_ = true;
      self.touched_.push_back(self.id_);
      return CURL_WRITEFUNC_PAUSE;
    }
    self.total_ += size;
    self.pending_.append(data, size);
    self.touched_.push_back(self.id_);
    return self.total_ > total_limit ? 0 : size;
  }

  exchange_id id_;
  http_request request_;
  std::vector<exchange_id>& touched_;
  CURL* easy_;
  curl_slist* header_lines_ = nullptr;
  head_reader head_;
  bool is_head_told_ = false;
  bool is_paused_ = false;
  bool is_second_start_ = false;
  std::size_t total_ = 0;
  std::string pending_;
  std::shared_ptr<counter> unread_ = std::make_shared<counter>(0);
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace

class curl_transport::loop {
public:
  explicit loop(exchange_sink sink) : sink_{std::move(sink)} {
    init_curl_once();
    multi_ = curl_multi_init();
    // Idle connections kept for reuse; libcurl's default of four per handle in use shrinks with them.
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 64L);
    curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    thread_ = std::thread{[this] { run(); }};
  }
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;
  ~loop() {
    stop_ = true;
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  void start(exchange_id id, http_request request) {
    orders_.start(id, std::move(request));
    curl_multi_wakeup(multi_);
  }

  void cancel(exchange_id id) {
    orders_.cancel(id);
    curl_multi_wakeup(multi_);
  }

private:
  void run() {
    block_all_signals();
    while (!stop_) {
      take_orders();
      int running = 0;
      curl_multi_perform(multi_, &running);
      hand_out_pieces();
      collect_ended();
      curl_multi_poll(multi_, nullptr, 0, touched_.empty() ? poll_ms : paused_poll_ms, nullptr);
    }
    while (!open_.empty()) {
      end(open_.begin()->first, {0, exchange_end::cancelled, ""});
    }
  }

  void take_orders() {
    auto [to_start, to_cancel] = orders_.take();
    for (auto& [id, request] : to_start) {
      auto exchange = std::make_unique<curl_exchange>(id, std::move(request), touched_);
      curl_multi_add_handle(multi_, exchange->handle());
      open_.emplace(id, std::move(exchange));
    }
    if (!to_cancel.empty()) {
      cancel_all(to_cancel);
    }
  }

  /// Removing a running handle closes its HTTP/1.1 connection or resets its HTTP/2 stream. libcurl 7.88 only queues the
  /// reset: it goes out when a neighbour on the connection is flushed, and without one the connection must be closed.
  void cancel_all(const std::vector<exchange_id>& ids) {
    std::map<long, std::size_t> streams;
    for (const auto& [id, exchange] : open_) {
      ++streams[exchange->local_port()];
    }
    std::set<long> to_flush;
    for (const auto id : ids) {
      if (const auto it = open_.find(id); it != open_.end()) {
        const auto port = it->second->local_port();
        if (--streams[port] == 0) {
          it->second->close_connection_with_it();
        }
        to_flush.insert(port);
        end(id, {id, exchange_end::cancelled, ""});
      }
    }
    for (auto it = open_.begin(); it != open_.end() && !to_flush.empty(); ++it) {
      if (const auto port = it->second->local_port(); port != 0 && to_flush.erase(port) != 0) {
        it->second->flush_connection();
      }
    }
  }

  /// One message per exchange and turn of the loop, however small the pieces were.
  void hand_out_pieces() {
    for (const auto id : std::exchange(touched_, {})) {
      if (const auto it = open_.find(id); it != open_.end()) {
        it->second->hand_out(sink_);
        it->second->resume_if_read();
        if (it->second->is_paused()) {
          touched_.push_back(id);
        }
      }
    }
  }

  void collect_ended() {
    int left = 0;
    while (const auto* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) {
        continue;
      }
      auto& exchange = curl_exchange::of(message->easy_handle);
      const auto code = message->data.result;
      if (exchange.deserves_fresh_connection(code)) {
        curl_multi_remove_handle(multi_, exchange.handle());
        exchange.start_afresh();
        curl_multi_add_handle(multi_, exchange.handle());
      } else {
        end(exchange.id(), exchange.ended(code));
      }
    }
  }

  void end(exchange_id id, exchange_ended how) {
    const auto it = open_.find(id);
    if (it == open_.end()) {
      return;
    }
    const auto exchange = std::move(it->second);
    open_.erase(it);
    exchange->hand_out(sink_);
    curl_multi_remove_handle(multi_, exchange->handle());
    how.id = id;
    sink_(std::move(how));
  }

  exchange_sink sink_;
  CURLM* multi_ = nullptr;
  order_box<http_request> orders_;
  std::vector<exchange_id> touched_;
  std::map<exchange_id, std::unique_ptr<curl_exchange>> open_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

curl_transport::curl_transport(exchange_sink sink) : loop_{std::make_unique<loop>(std::move(sink))} {}

curl_transport::~curl_transport() = default;

void curl_transport::start(exchange_id id, http_request request) {
  loop_->start(id, std::move(request));
}

void curl_transport::cancel(exchange_id id) {
  loop_->cancel(id);
}

}  // namespace regatta
