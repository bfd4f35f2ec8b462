package rest

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiter gives every caller a bucket of tokens: one is taken by each request, and they come back
// at a steady rate. It counts on its node alone.
type limiter struct {
	perMinute, burst int
	policy           string

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	swept   time.Time
}

func newLimiter(perMinute, burst int) *limiter {
	return &limiter{
		perMinute: perMinute, burst: burst, buckets: map[string]*rate.Limiter{},
		policy: fmt.Sprintf(`"default";q=%d;w=60`, perMinute),
	}
}

// allow takes a token of caller's and tells the client where it stands (RateLimit header fields,
// draft-ietf-httpapi-ratelimit-headers-10).
func (l *limiter) allow(w http.ResponseWriter, caller string, now time.Time) bool {
	return l.take(w.Header(), caller, now)
}

func (l *limiter) take(h http.Header, caller string, now time.Time) bool {
	b := l.bucket(group(caller), now)
	allowed := b.AllowN(now, 1)
	left := max(0, b.TokensAt(now))
	perSecond := float64(l.perMinute) / 60
	h["Ratelimit-Policy"] = []string{l.policy}
	h["Ratelimit"] = []string{`"default";r=` + strconv.Itoa(int(left)) + `;t=` + strconv.Itoa(int(math.Ceil((float64(l.burst)-left)/perSecond)))}
	if !allowed {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil((1-left)/perSecond))))
	}
	return allowed
}

func (l *limiter) bucket(caller string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.swept) > time.Minute {
		for k, b := range l.buckets { // a full bucket is as good as none
			if b.TokensAt(now) >= float64(l.burst) {
				delete(l.buckets, k)
			}
		}
		l.swept = now
	}
	b := l.buckets[caller]
	if b == nil {
		b = rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.burst)
		l.buckets[caller] = b
	}
	return b
}

// group takes the addresses of one IPv6 network as one caller, since whoever has one of them has
// them all (RFC 6177).
func group(caller string) string {
	ip, err := netip.ParseAddr(caller)
	if err != nil || !ip.Is6() || ip.Is4In6() {
		return caller
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return caller
	}
	return network.String()
}
