package server

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Limiter gives every caller a token bucket: each request takes a token, and the bucket refills at a steady rate. Each
// node counts separately.
type Limiter struct {
	name             string
	perMinute, burst int
	policy           []string // the header field, shared by all responses
	item             string   // the start of the other header field

	mu      sync.Mutex
	buckets map[string]*bucket
	swept   time.Time
}

// bucket is the tokens of one caller at a time.
type bucket struct {
	tokens float64
	at     time.Time
}

// setBack is how much earlier than the request before it a request is if the clock was set back. Requests that run at
// the same time differ by less.
const setBack = time.Second

// NewLimiter returns a limiter whose policy has the name default in RateLimit header fields.
func NewLimiter(perMinute, burst int) *Limiter { return newNamedLimiter("default", perMinute, burst) }

// newNamedLimiter returns a limiter whose policy has a name of its own in RateLimit header fields.
func newNamedLimiter(name string, perMinute, burst int) *Limiter {
	return &Limiter{
		name:      name,
		perMinute: perMinute,
		burst:     burst,
		buckets:   map[string]*bucket{},
		policy:    []string{fmt.Sprintf(`"%s";q=%d;w=60`, name, perMinute)},
		item:      `"` + name + `";r=`,
	}
}

// Allow takes one token from caller's bucket and reports whether there was one. It sets the RateLimit header
// fields (draft-ietf-httpapi-ratelimit-headers-10).
func (l *Limiter) Allow(w http.ResponseWriter, caller string, now time.Time) bool {
	return l.Take(w.Header(), caller, now)
}

// Take takes one token from an address's bucket, and reports whether there was one. It sets the RateLimit header
// fields.
func (l *Limiter) Take(h http.Header, caller string, now time.Time) bool {
	return TakeAll(h, now, 1, Allowance{l, identity.AddressGroup(caller)}) == nil
}

// Exhausted reports whether caller has no token left, and takes none. If so, it sets the RateLimit header
// fields.
func (l *Limiter) Exhausted(h http.Header, caller string, now time.Time) bool {
	remaining := l.left(identity.AddressGroup(caller), now)
	if remaining >= atLeast(1) {
		return false
	}
	l.setHeaders(h, remaining, 1)
	return true
}

// Allowance is a bucket that a request takes tokens from.
type Allowance struct {
	*Limiter
	caller string
}

// Allowance returns a caller's bucket.
func (l *Limiter) Allowance(caller string) Allowance { return Allowance{l, caller} }

// atLeast is n tokens, less the rounding error for a time in nanoseconds.
func atLeast(n int) float64 { return float64(n) - 1e-6 }

// TakeAll takes n tokens from each allowance, or from none: then it returns the limiter that refused. The header
// describes the allowance with the fewest tokens left. A request that is refused holds tokens of other allowances for
// a moment, in which they can refuse another request.
func TakeAll(h http.Header, now time.Time, n int, allowances ...Allowance) (limiter *Limiter) {
	tightest, lowest := 0, math.Inf(1)
	for i, s := range allowances {
		remaining, isTaken := s.Spend(s.caller, n, now)
		if !isTaken {
			for _, earlier := range allowances[:i] {
				earlier.Spend(earlier.caller, -n, now)
			}
			return refuseAll(h, now, n, s.Limiter, allowances)
		}
		if remaining < lowest {
			tightest, lowest = i, remaining
		}
	}
	allowances[tightest].setHeaders(h, lowest, 0)
	return nil
}

// refuseAll sets the header fields for a request that a limiter has refused, and returns the last limiter that refuses
// it.
func refuseAll(h http.Header, now time.Time, n int, limiter *Limiter, allowances []Allowance) *Limiter {
	tightest, lowest := 0, math.Inf(1)
	for i, s := range allowances {
		remaining := s.left(s.caller, now)
		if remaining < atLeast(n) {
			limiter = s.Limiter
		}
		if remaining < lowest {
			tightest, lowest = i, remaining
		}
	}
	allowances[tightest].setHeaders(h, lowest, n)
	return limiter
}

// setHeaders sets the header fields for a bucket with left tokens. If n is positive, it also sets Retry-After to the
// time until the bucket has n tokens.
func (l *Limiter) setHeaders(h http.Header, remaining float64, n int) {
	remaining = max(0, remaining)
	perSecond := float64(l.perMinute) / 60
	h["Ratelimit-Policy"] = l.policy
	item := strconv.AppendInt(append(make([]byte, 0, 64), l.item...), int64(remaining), 10)
	reset := int64(math.Ceil((float64(l.burst) - remaining) / perSecond))
	h["Ratelimit"] = []string{string(strconv.AppendInt(append(item, `;t=`...), reset, 10))}
	if n > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil((float64(n)-remaining)/perSecond)))))
	}
}

// Spend takes n tokens from a caller's bucket if it has as many, and returns how many are left. A negative n returns
// tokens.
func (l *Limiter) Spend(caller string, n int, now time.Time) (remaining float64, isTaken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(caller, now)
	if b.tokens < atLeast(n) {
		return b.tokens, false
	}
	b.tokens -= float64(n)
	return b.tokens, true
}

// left returns how many tokens a caller has.
func (l *Limiter) left(caller string, now time.Time) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bucket(caller, now).tokens
}

// bucket returns a caller's bucket, with the tokens that it has now. If the clock was set back, the bucket continues
// with the tokens that it has: otherwise an empty one would get none until the clock shows the earlier time again. The
// caller holds l.mu.
func (l *Limiter) bucket(caller string, now time.Time) *bucket {
	if now.Sub(l.swept).Abs() > time.Minute { // the clock may have been put back
		for k, b := range l.buckets { // a full bucket need not be stored
			if l.refill(b, now); b.tokens >= float64(l.burst) {
				delete(l.buckets, k)
			}
		}
		l.swept = now
	}
	b := l.buckets[caller]
	if b == nil {
		b = &bucket{tokens: float64(l.burst), at: now}
		l.buckets[caller] = b
	}
	l.refill(b, now)
	return b
}

// refill adds the tokens of the time since b was refilled last. The caller holds l.mu.
func (l *Limiter) refill(b *bucket, now time.Time) {
	age := now.Sub(b.at)
	if age > 0 {
		b.tokens += age.Seconds() * float64(l.perMinute) / 60
	}
	if age > 0 || age < -setBack {
		b.at = now
	}
	b.tokens = min(b.tokens, float64(l.burst))
}
