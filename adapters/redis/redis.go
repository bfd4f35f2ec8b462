// Package redis carries word of changed presences between nodes by way of a Redis, for deployments that
// have one: then PostgreSQL has no NOTIFY to serialise its commits by. Nothing is kept in it.
package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Config says which Redis there is. The zero Config is none.
type Config struct {
	// URL is redis://user:password@host:port/database, or rediss:// for TLS. It may hold a password.
	URL secret.String
}

// Check calls wrong with the reason if the URL cannot be used. It opens no connection.
func (c Config) Check(wrong func(key, reason string)) {
	if c.URL.IsZero() {
		return
	}
	if _, err := redis.ParseURL(c.URL.Reveal()); err != nil { // which quotes the URL
		wrong("url", "must be redis://user:password@host:port/database, or rediss:// for TLS; percent-encode special "+
			"characters of the password")
	}
}

const (
	channel = "atrium_presence"

	// A Redis that does not answer must not delay anyone: the nodes poll their store each second anyway.
	patience = 250 * time.Millisecond
)

// Signals carries word of changed presences by PUBLISH and SUBSCRIBE.
type Signals struct{ client *redis.Client }

var _ ports.PresenceSignals = (*Signals)(nil)

// New returns the signals of a Redis, which need not answer yet, and what closes its connections.
func New(c Config) (*Signals, func(), error) {
	options, err := redis.ParseURL(c.URL.Reveal())
	if err != nil {
		return nil, nil, errors.New("redis.url: it is no URL of a Redis")
	}
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.PoolSize = 2 // one announces, and one is for the next
	client := redis.NewClient(options)
	return &Signals{client: client}, func() { _ = client.Close() }, nil
}

// Announce implements ports.PresenceSignals.
func (s *Signals) Announce(ctx context.Context, org identity.OrgID) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.client.Publish(ctx, channel, string(org)).Err()
}

// Listen implements ports.PresenceSignals. The client reconnects by itself and detects a dead connection by
// pings. Signals may have been missed before each subscription, the first included.
func (s *Signals) Listen(ctx context.Context, heard func(identity.OrgID)) error {
	subscription := s.client.Subscribe(ctx, channel)
	defer func() { _ = subscription.Close() }()
	said := subscription.ChannelWithSubscriptions()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, open := <-said:
			if !open {
				return nil
			}
			switch m := m.(type) {
			case *redis.Subscription:
				heard("")
			case *redis.Message:
				heard(identity.OrgID(m.Payload))
			}
		}
	}
}
