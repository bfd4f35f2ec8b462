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

// limiter gives every caller a token bucket: each request takes a token, and the bucket refills at a steady rate. Each
// node counts separately.
type limiter struct {
	name             string
	perMinute, burst int
	policy           []string // the header field, shared by all responses
	item             string   // the start of the other header field

	mu      sync.Mutex
	buckets map[string]*bucket
	swept   time.Time
}

// bucket is the tokens of one caller.
type bucket struct {
	*rate.Limiter
	seen time.Time // of the latest request
}

// setBack is how much earlier than the request before it a request is if the clock was set back. Requests that run at
// the same time differ by less.
const setBack = time.Second

func newLimiter(perMinute, burst int) *limiter { return newNamedLimiter("default", perMinute, burst) }

// newNamedLimiter returns a limiter whose policy has a name of its own in RateLimit header fields.
func newNamedLimiter(name string, perMinute, burst int) *limiter {
	return &limiter{
		name:      name,
		perMinute: perMinute,
		burst:     burst,
		buckets:   map[string]*bucket{},
		policy:    []string{fmt.Sprintf(`"%s";q=%d;w=60`, name, perMinute)},
		item:      `"` + name + `";r=`,
	}
}

// allow takes one token from caller's bucket and reports whether there was one. It sets the RateLimit header
// fields (draft-ietf-httpapi-ratelimit-headers-10).
func (l *limiter) allow(w http.ResponseWriter, caller string, now time.Time) bool {
	return l.take(w.Header(), caller, now)
}

func (l *limiter) take(h http.Header, caller string, now time.Time) bool {
	return takeAll(h, now, 1, allowance{l, addressGroup(caller)}) == nil
}

// exhausted reports whether caller has no token left, and takes none. If so, it sets the RateLimit header
// fields.
func (l *limiter) exhausted(h http.Header, caller string, now time.Time) bool {
	b := l.bucket(addressGroup(caller), now)
	left := b.TokensAt(now)
	if left >= atLeast(1) {
		return false
	}
	l.setHeaders(h, left, 1)
	return true
}

// allowance is a bucket that a request takes tokens from.
type allowance struct {
	*limiter
	caller string
}

// atLeast is n tokens, less the rounding error of a time in nanoseconds.
func atLeast(n int) float64 { return float64(n) - 1e-6 }

// takeAll takes n tokens from each of up to three allowances, or from none: then it returns the limiter that
// refused. The header describes the allowance with the fewest tokens left. A race between two requests can cost
// a token of an allowance that did not refuse.
func takeAll(h http.Header, now time.Time, n int, allowances ...allowance) (refused *limiter) {
	var buckets [3]*bucket
	for i, s := range allowances {
		buckets[i] = s.bucket(s.caller, now)
		if buckets[i].TokensAt(now) < atLeast(n) {
			refused = s.limiter
		}
	}
	for i := range allowances {
		if refused == nil && !buckets[i].AllowN(now, n) {
			refused = allowances[i].limiter
		}
	}
	tightest, least := 0, math.Inf(1)
	for i := range allowances {
		if left := buckets[i].TokensAt(now); left < least {
			tightest, least = i, left
		}
	}
	if refused == nil {
		n = 0
	}
	allowances[tightest].setHeaders(h, least, n)
	return refused
}

// setHeaders sets the header fields for a bucket with left tokens. If n is positive, it also sets Retry-After to the
// time until the bucket has n tokens.
func (l *limiter) setHeaders(h http.Header, left float64, n int) {
	left = max(0, left)
	perSecond := float64(l.perMinute) / 60
	h["Ratelimit-Policy"] = l.policy
	h["Ratelimit"] = []string{l.item + strconv.Itoa(int(left)) + `;t=` + strconv.Itoa(
		int(math.Ceil((float64(l.burst)-left)/perSecond)),
	)}
	if n > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil((float64(n)-left)/perSecond)))))
	}
}

// bucket returns the bucket of a caller. If the clock was set back, the bucket continues with the tokens that it has:
// otherwise an empty one would get none until the clock shows the earlier time again.
func (l *limiter) bucket(caller string, now time.Time) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.swept).Abs() > time.Minute { // the clock may have been put back
		for k, b := range l.buckets { // a full bucket need not be stored
			if b.TokensAt(now) >= float64(l.burst) {
				delete(l.buckets, k)
			}
		}
		l.swept = now
	}
	b := l.buckets[caller]
	if b == nil {
		b = &bucket{Limiter: rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.burst)}
		l.buckets[caller] = b
	}
	if b.seen.Sub(now) > setBack {
		b.SetLimitAt(now, b.Limit())
	}
	b.seen = now
	return b
}

// addressGroup treats the addresses of one IPv6 /64 network as one caller: a client that has one of them usually has
// them all (RFC 6177).
func addressGroup(caller string) string {
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
