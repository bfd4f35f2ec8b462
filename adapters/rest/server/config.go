package server

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/netip"
	"time"
)

// Config configures the address, the timeouts and the limits of the HTTP API.
type Config struct {
	Addr string // host:port; an empty host is every interface

	RequestTimeout    time.Duration // for a use case; streams have no limit
	ReadHeaderTimeout time.Duration // until the request's header is in
	ReadTimeout       time.Duration // until its body is in
	WriteTimeout      time.Duration // from the header to the end of the response; above RequestTimeout, for its 504
	IdleTimeout       time.Duration // of a kept-alive connection between two requests
	Drain             time.Duration // for proxies to notice that the server stops, while it still serves; 0: none
	ShutdownTimeout   time.Duration // for running requests when the program is told to stop, after Drain

	// TrustedProxies are the networks whose X-Forwarded-* headers count. From elsewhere
	// they are ignored, since any client can send them.
	TrustedProxies []netip.Prefix

	RateLimit   RateLimit
	Concurrency Concurrency
	Streams     Streams
	LeakedKeys  LeakedKeys
	SecurityTxt SecurityTxt
}

// SecurityTxt is what /.well-known/security.txt says to people who have found a vulnerability (RFC 9116).
type SecurityTxt struct {
	Contacts []string // URIs: mailto:, https: or tel:, the preferred one first. Empty: there is no such file
	Policy   string   // the URL of the policy for reports; empty: none
}

// RateLimit limits how many requests each caller may send; more get a 429. Each node counts separately.
type RateLimit struct {
	PerMinute                int // of one API key, or of one signed-in user, sustained
	Burst                    int // of the same at once
	UserPerMinute            int // of one user by all of their credentials; 0: twice PerMinute
	UserBurst                int // of the same at once; 0: twice Burst
	WorkspacePerMinute       int // in one workspace by all of its callers; 0: five times PerMinute
	WorkspaceBurst           int // of the same at once; 0: five times Burst
	UnauthenticatedPerMinute int // of one address that shows no valid credential
	SignInsPerMinute         int // of one address that tries to open a session, and fails
	SignInFlowsPerMinute     int // of one address that begins to sign in
	DownloadsPerMinute       int // of one address: begun 64 KiB of documentation and scripts
}

func (l RateLimit) limiters() (callers, users, workspaces *Limiter) {
	return NewLimiter(l.PerMinute, l.Burst),
		newNamedLimiter("user", cmp.Or(l.UserPerMinute, 2*l.PerMinute), cmp.Or(l.UserBurst, 2*l.Burst)),
		newNamedLimiter("workspace", cmp.Or(l.WorkspacePerMinute, 5*l.PerMinute), cmp.Or(l.WorkspaceBurst, 5*l.Burst))
}

// Concurrency limits how many requests run at the same time on one node. Others wait for their turn, and get
// a 429 if it does not come. Operations that reach another system have separate limits, four times as high:
// while they wait, they hold no database connection.
type Concurrency struct {
	PerCaller    int           // of one user
	PerWorkspace int           // in one workspace
	Wait         time.Duration // the longest that a request waits for its turn
}

// Streams limits how many streams are open at the same time on one node. Each user can also open at most 20.
type Streams struct {
	PerWorkspace int
	PerAddress   int
}

// LeakedKeys configures who can report leaked API keys.
type LeakedKeys struct {
	// PublicKeys verify reports. Without any, reports need no signature: everyone who has a complete token can revoke
	// it anyway.
	PublicKeys []ReportKey
}

// ReportKey is a public key with which a service reports leaked API keys.
type ReportKey struct {
	ID  string // as the service names it
	PEM string // PKIX, ECDSA
}

// Parse returns the key of k.
func (k ReportKey) Parse() (*ecdsa.PublicKey, error) {
	block, _ := pem.Decode([]byte(k.PEM))
	if block == nil {
		return nil, errors.New("is not PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("is not a public key")
	}
	public, isECDSA := key.(*ecdsa.PublicKey)
	if !isECDSA {
		return nil, errors.New("is not a key for ECDSA")
	}
	return public, nil
}
