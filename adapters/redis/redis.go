// Package redis signals changed presences to other nodes through Redis, for deployments that have one. PostgreSQL then
// has no NOTIFY, which would serialise its commits. Nothing is stored in Redis.
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

// Config configures the Redis server. The zero Config means none.
type Config struct {
	// URL is redis://user:password@host:port/database, or rediss:// for TLS. It may hold a password.
	URL secret.String
}

// Check calls wrong with the reason if the URL cannot be used. It opens no connection.
func (c Config) Check(report func(key, reason string)) {
	if c.URL.IsZero() {
		return
	}
	if _, err := redis.ParseURL(c.URL.Reveal()); err != nil { // which quotes the URL
		report("url", "must be redis://user:password@host:port/database, or rediss:// for TLS; percent-encode special "+
			"characters of the password")
	}
}

const (
	channel = "atrium_presence"

	// A Redis that does not respond must not delay anyone: the nodes poll their store every second anyway.
	patience = 250 * time.Millisecond
)

// Signals announces changed presences with PUBLISH and SUBSCRIBE.
type Signals struct {
	client   *redis.Client
	patience time.Duration // for one announcement
}

var _ ports.PresenceSignals = (*Signals)(nil)

// New returns the signals of a Redis server, which need not be reachable yet, and a function that closes its
// connections.
func New(c Config) (*Signals, func(), error) {
	options, err := redis.ParseURL(c.URL.Reveal())
	if err != nil {
		return nil, nil, errors.New("redis.url: it is no URL of a Redis")
	}
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.PoolSize = 2 // one for the current announcement and one for the next
	client := redis.NewClient(options)
	return &Signals{client: client, patience: patience}, func() { _ = client.Close() }, nil
}

// Announce implements ports.PresenceSignals.
func (s *Signals) Announce(ctx context.Context, org identity.OrgID) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	return s.client.Publish(ctx, channel, string(org)).Err()
}

// Listen implements ports.PresenceSignals. The client reconnects by itself and detects a dead connection by
// pings. Signals may have been missed before each subscription, the first included.
func (s *Signals) Listen(ctx context.Context, heard func(identity.OrgID)) error {
	subscription := s.client.Subscribe(ctx, channel)
	defer func() { _ = subscription.Close() }()
	messages := subscription.ChannelWithSubscriptions()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, open := <-messages:
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
