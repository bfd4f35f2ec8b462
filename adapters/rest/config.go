package rest

import (
	"net/netip"
	"time"
)

// Config says where the HTTP API listens, how long it waits, and how much it takes from a caller.
type Config struct {
	Addr string // host:port; an empty host is every interface

	RequestTimeout    time.Duration // for the whole of a use case; streams are excepted
	ReadHeaderTimeout time.Duration // until the request's header is in
	ReadTimeout       time.Duration // until its body is in
	WriteTimeout      time.Duration // from the header until the answer is out; above RequestTimeout, so that its 504 still is
	IdleTimeout       time.Duration // of a kept-alive connection between two requests
	ShutdownTimeout   time.Duration // for requests under way when the program is told to stop

	// TrustedProxies are the networks whose X-Forwarded-* headers count. From anywhere else
	// they are ignored, since any client can send them.
	TrustedProxies []netip.Prefix

	RateLimit RateLimit
}

// RateLimit bounds how many requests each caller may send; more are answered 429.
type RateLimit struct {
	PerMinute                int // of one API key, sustained
	Burst                    int // of one API key at once
	UnauthenticatedPerMinute int // of one address that shows no valid credential
}
